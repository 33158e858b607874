// Go's net/http against the two examples; see `run`.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

var (
	echo   = os.Getenv("ECHO_URL")
	stream = os.Getenv("STREAM_URL")
	client = &http.Client{Timeout: time.Minute}
	large  []byte
)

func numbers(upto int) string {
	var text strings.Builder
	for n := 1; n <= upto; n++ {
		fmt.Fprintln(&text, n)
	}
	return text.String()
}

// ask sends a request and reads the whole answer.
func ask(method, url string, body io.Reader, fields ...string) (*http.Response, []byte, error) {
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		return nil, nil, err
	}
	for at := 0; at+1 < len(fields); at += 2 {
		request.Header.Set(fields[at], fields[at+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response, content, err
}

func expect(content []byte, wanted string, err error) error {
	if err == nil && string(content) != wanted {
		err = fmt.Errorf("got %d bytes, not the %d expected", len(content), len(wanted))
	}
	return err
}

func get() error {
	_, content, err := ask("GET", echo+"/", nil)
	return expect(content, "OK", err)
}

func head() error {
	response, content, err := ask("HEAD", echo+"/", nil)
	if err == nil && response.ContentLength != 2 {
		err = fmt.Errorf("length %d", response.ContentLength)
	}
	return expect(content, "", err)
}

func post() error {
	_, content, err := ask("POST", echo+"/", bytes.NewReader(large))
	return expect(content, string(large), err)
}

func postExpect() error {
	transport := &http.Transport{ExpectContinueTimeout: 30 * time.Second}
	defer transport.CloseIdleConnections()
	continued := false
	trace := &httptrace.ClientTrace{Got100Continue: func() { continued = true }}
	request, err := http.NewRequest("POST", echo+"/", bytes.NewReader(large))
	if err != nil {
		return err
	}
	request.Header.Set("Expect", "100-continue")
	request = request.WithContext(httptrace.WithClientTrace(context.Background(), trace))
	response, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && !continued {
		err = fmt.Errorf("no 100 Continue came")
	}
	return expect(content, string(large), err)
}

func postChunked() error {
	reader, writer := io.Pipe()
	go func() {
		for n := 0; n < 1000; n++ {
			io.WriteString(writer, strings.Repeat("a line\n", 100))
		}
		writer.Close()
	}()
	_, content, err := ask("PUT", stream+"/count", reader)
	return expect(content, "700000 bytes, 100000 lines\n", err)
}

func keepAlive() error {
	reused := 0
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if info.Reused {
			reused++
		}
	}}
	own := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	defer own.CloseIdleConnections()
	for n := 0; n < 3; n++ {
		request, err := http.NewRequest("GET", echo+"/", nil)
		if err != nil {
			return err
		}
		request = request.WithContext(httptrace.WithClientTrace(context.Background(), trace))
		response, err := own.Do(request)
		if err != nil {
			return err
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	if reused != 2 {
		return fmt.Errorf("%d of 2 requests reused the connection", reused)
	}
	return nil
}

func decodeGzip() error {
	response, content, err := ask("GET", stream+"/numbers?upto=50000", nil)
	if err == nil && !response.Uncompressed {
		err = fmt.Errorf("the answer was not compressed")
	}
	return expect(content, numbers(50000), err)
}

func events() error {
	response, err := client.Get(stream + "/clock")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	return expect([]byte(line), "event: tick\n", err)
}

func earlyClose() error {
	for n := 0; n < 3; n++ {
		response, err := client.Get(stream + "/numbers?upto=1000000000")
		if err != nil {
			return err
		}
		io.CopyN(io.Discard, response.Body, 10000)
		response.Body.Close()
	}
	_, content, err := ask("GET", stream+"/numbers?upto=3", nil)
	return expect(content, numbers(3), err)
}

func manyAtOnce() error {
	results := make(chan error, 200)
	var all sync.WaitGroup
	for n := 0; n < 200; n++ {
		all.Add(1)
		go func(text string) {
			defer all.Done()
			_, content, err := ask("POST", echo+"/", strings.NewReader(text))
			results <- expect(content, text, err)
		}(fmt.Sprint(n))
	}
	all.Wait()
	close(results)
	for err := range results {
		if err != nil {
			return err
		}
	}
	return nil
}

func notFound() error {
	response, _, err := ask("GET", stream+"/nowhere", nil)
	if err == nil && response.StatusCode != 404 {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return err
}

func main() {
	var err error
	if large, err = os.ReadFile(filepath.Join(os.Getenv("WORK"), "10mb")); err != nil {
		panic(err)
	}
	for _, check := range []struct {
		name string
		run  func() error
	}{
		{"get", get}, {"head", head}, {"post", post}, {"post-expect", postExpect},
		{"post-chunked", postChunked}, {"keep-alive", keepAlive}, {"decode-gzip", decodeGzip},
		{"events", events}, {"early-close", earlyClose}, {"many-at-once", manyAtOnce},
		{"not-found", notFound},
	} {
		if err := check.run(); err != nil {
			fmt.Printf("FAIL %s: %v\n", check.name, err)
		} else {
			fmt.Printf("ok %s\n", check.name)
		}
	}
}
