package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

var background = context.Background()

// older is a running host of an older version.
type older struct {
	process *exec.Cmd
	client  *grpc.ClientConn
}

// start runs an older host, whose path begins in the folder of this program.
func start(path string, arguments []string) (*older, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.Command(filepath.Join(filepath.Dir(own), path), arguments...)
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(output)
	port, err := lines.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start: %w", path, err), process.Wait())
	}
	go io.Copy(os.Stdout, lines) //nolint:errcheck // ends with the process
	client, err := grpc.NewClient("127.0.0.1:"+strings.TrimSpace(port),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{}), grpc.MaxCallRecvMsgSize(1<<30)))
	if err != nil {
		return nil, err
	}
	return &older{process, client}, nil
}

func (host *older) stop() {
	host.client.Close()         //nolint:errcheck
	host.process.Process.Kill() //nolint:errcheck
	host.process.Wait()         //nolint:errcheck
}

// forward passes a call of any method to the older host, and its answers back.
func (host *older) forward(_ any, server grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(server)
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	client, err := host.client.NewStream(server.Context(), both, method)
	if err != nil {
		return err
	}
	var message frame
	if err := server.RecvMsg(&message); err != nil {
		return err
	}
	// At its end, of which reading gives the reason, a stream takes no message.
	if err := client.SendMsg(&message); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := client.CloseSend(); err != nil {
		return err
	}
	for {
		if err := client.RecvMsg(&message); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := server.SendMsg(&message); err != nil {
			return err
		}
	}
}

// frame is a message that is passed on as it is.
type frame []byte

// codec reads and writes frames and messages.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(message any) ([]byte, error) {
	if raw, ok := message.(*frame); ok {
		return *raw, nil
	}
	return proto.Marshal(message.(proto.Message))
}

func (codec) Unmarshal(content []byte, message any) error {
	if raw, ok := message.(*frame); ok {
		*raw = append(frame(nil), content...)
		return nil
	}
	return proto.Unmarshal(content, message.(proto.Message))
}
