// A client of Go's standard library that keeps its connections: each sends a POST once in its interval.
//
// It reads one JSON object from stdin and writes one to stdout when all are through, as kept_connections.py does.
package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type job struct {
	URL         string `json:"url"`
	Token       string `json:"token"`
	Body        string `json:"body"`
	IntervalsMs []int  `json:"intervalsMs"`
	Rounds      int    `json:"rounds"`
}

type told struct {
	Requests    int            `json:"requests"`
	Connections int            `json:"connections"`
	Broken      int            `json:"broken"`
	Statuses    map[string]int `json:"statuses"`
	Faults      map[string]int `json:"faults"`
}

var (
	lock sync.Mutex
	all  = told{Statuses: map[string]int{}, Faults: map[string]int{}}
)

func send(client *http.Client, asked job) {
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		lock.Lock()
		defer lock.Unlock()
		if !got.Reused {
			all.Connections++
		}
	}}
	request, err := http.NewRequest("POST", asked.URL, strings.NewReader(asked.Body))
	if err != nil {
		panic(err)
	}
	request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
	request.Header.Set("Authorization", "Bearer "+asked.Token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	lock.Lock()
	defer lock.Unlock()
	all.Requests++
	if err == nil {
		all.Statuses[strconv.Itoa(answer.StatusCode)]++
		return
	}
	all.Broken++
	all.Faults[err.Error()]++
}

func main() {
	var asked job
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		panic(err)
	}
	var ended sync.WaitGroup
	for _, ms := range asked.IntervalsMs {
		ended.Add(1)
		go func() {
			defer ended.Done()
			// A transport of its own has a connection of its own.
			client := &http.Client{Transport: &http.Transport{IdleConnTimeout: time.Hour}, Timeout: time.Minute}
			for number := 0; number < asked.Rounds; number++ {
				if number > 0 {
					time.Sleep(time.Duration(ms) * time.Millisecond)
				}
				send(client, asked)
			}
		}()
	}
	ended.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		panic(err)
	}
}
