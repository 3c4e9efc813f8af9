package main

import (
	"context"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

// The older host for YAML lacks this method, with which `pulumi package add` ends: a program in YAML finds its packages
// in its project's file, and nothing has to be linked.
var yamlMethods = grpc.ServiceDesc{
	ServiceName: pulumirpc.LanguageRuntime_ServiceDesc.ServiceName,
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Link", Handler: link}},
}

func link(
	_ any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor,
) (any, error) {
	return &pulumirpc.LinkResponse{}, read(&pulumirpc.LinkRequest{})
}
