// Lets main.go declare functions that it does not define.
