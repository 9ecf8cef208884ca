// SPDX-License-Identifier: GPL-2.0-only

package volume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

// acceptPause is the time after a failure, such as that of too many open files.
const acceptPause = 100 * time.Millisecond

// request is what the wrapper of LVM sends: the command that it is about to run.  When it
// closes its side of the connection, or dies, the command has ended.
type request struct {
	Args []string `json:"args"`
}

// answer comes when ioband is out, and again when it is back.
type answer struct {
	Error string `json:"error"`
}

// Serve answers wrappers of LVM on a socket, until the end.
func (k *Keeper) Serve(ctx context.Context, socket string) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	go k.accept(ctx, listener)
	return nil
}

func (k *Keeper) accept(ctx context.Context, listener net.Listener) {
	for ctx.Err() == nil {
		connection, err := listener.Accept()
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		go k.serve(ctx, connection)
	}
}

func (k *Keeper) serve(ctx context.Context, connection net.Conn) {
	defer connection.Close()
	var asked request
	if json.NewDecoder(connection).Decode(&asked) != nil {
		return
	}
	err := k.begin(ctx, asked.Args)
	reply(connection, err)
	_, _ = io.Copy(io.Discard, connection)
	k.end(ctx, asked.Args)
	reply(connection, nil)
}

func reply(connection net.Conn, err error) {
	text := answer{}
	if err != nil {
		text.Error = err.Error()
	}
	_ = json.NewEncoder(connection).Encode(text)
}

// session is the side of the wrapper.
type session struct {
	connection *net.UnixConn
	decoder    *json.Decoder
}

// ask has the process of the node take ioband out; the error of the answer is that of
// iobandctl, and LVM is to run nevertheless.
func ask(socket string, args []string) (*session, error) {
	connection, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("ioband-node does not answer: %w", err)
	}
	s := &session{connection, json.NewDecoder(connection)}
	if err := json.NewEncoder(connection).Encode(request{args}); err != nil {
		connection.Close()
		return nil, err
	}
	return s, s.wait()
}

func (s *session) wait() error {
	var got answer
	if err := s.decoder.Decode(&got); err != nil {
		return fmt.Errorf("ioband-node ended: %w", err)
	}
	if got.Error != "" {
		return errors.New(got.Error)
	}
	return nil
}

// done says that LVM has ended, and waits until ioband is back.
func (s *session) done() error {
	defer s.connection.Close()
	if err := s.connection.CloseWrite(); err != nil {
		return err
	}
	return s.wait()
}
