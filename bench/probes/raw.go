// SPDX-License-Identifier: MIT

// The floor of Go: a pair of SET and compare-and-delete at all servers, each over as soon as a majority has answered, by
// its own sockets, a goroutine for each, and no library. "Go-raw MEDIAN P99" in microseconds. raw ROUNDS URL...
package main

import (
	"bytes"
	"fmt"
	"log"
	"net"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	token  = "0123456789012345678901234567890123456789"
	delete = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
)

func command(words ...string) []byte {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	return []byte(text)
}

// answer is how many answers a server has given.
type answer struct{ server, count int }

func read(server int, from net.Conn, answers chan answer) {
	buffer := make([]byte, 4096)
	for count := 0; ; {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		count += bytes.Count(buffer[:n], []byte("\r\n"))
		answers <- answer{server, count}
	}
}

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	servers := os.Args[2:]
	answers, counts, script, sent := make(chan answer, len(servers)), make([]int, len(servers)), "", 0
	conns := make([]net.Conn, len(servers))
	for i, url := range servers {
		if conns[i], err = net.Dial("unix", strings.TrimPrefix(url, "unix://")); err != nil {
			log.Fatal(err)
		}
		_, _ = conns[i].Write(command("SCRIPT", "LOAD", delete))
		buffer := make([]byte, 4096)
		n, _ := conns[i].Read(buffer)
		script = strings.Split(string(buffer[:n]), "\r\n")[1]
		go read(i, conns[i], answers)
	}
	ask := func(request []byte) {
		sent++
		for _, conn := range conns {
			_, _ = conn.Write(request)
		}
		for yes := 0; yes <= len(conns)/2; {
			one := <-answers
			counts[one.server] = one.count
			yes = 0
			for _, count := range counts {
				if count >= sent {
					yes++
				}
			}
		}
	}
	take, give := command("SET", "raw", token, "NX", "PX", "30000"), command("EVALSHA", script, "1", "raw", token)
	times := make([]time.Duration, rounds)
	for i := range times {
		start := time.Now()
		ask(take)
		ask(give)
		times[i] = time.Since(start)
	}
	times = times[rounds/11:]
	sort.Slice(times, func(i, k int) bool { return times[i] < times[k] })
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	fmt.Printf("Go-raw %.1f %.1f\n", us(times[len(times)/2]), us(times[len(times)*99/100]))
}
