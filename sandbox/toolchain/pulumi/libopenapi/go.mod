// In the place of the published library (the reason is in binaries.yaml): the names of it that the engine's command
// `pulumi cloud` uses, which no stack needs and which says here that it cannot read its document.
module github.com/pb33f/libopenapi

go 1.25.0

require go.yaml.in/yaml/v4 v4.0.0-rc.4
