module volcano.sh/apis

go 1.24.0
