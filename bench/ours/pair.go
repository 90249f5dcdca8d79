// SPDX-License-Identifier: MIT

// A pair of acquire and release by the module for Go, and how many pairs a second with 256 goroutines: "Go MEDIAN P99" in
// microseconds, "Go-256 NUMBER pairs/s". pair ROUNDS URL...
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"

	"redlock"
)

func pair(lock *redlock.Lock) time.Duration {
	start := time.Now()
	if _, err := lock.TryLock(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := lock.Unlock(); err != nil {
		log.Fatal(err)
	}
	return time.Since(start)
}

// together returns how many pairs a second goroutines make, each with a name of its own.
func together(client *redlock.Client, goroutines, pairs int) float64 {
	var wait sync.WaitGroup
	start := time.Now()
	for i := 0; i < goroutines; i++ {
		lock, err := client.NewLock(redlock.Options{}, fmt.Sprint("flight-", i))
		if err != nil {
			log.Fatal(err)
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			for k := 0; k < pairs/goroutines; k++ {
				pair(lock)
			}
		}()
	}
	wait.Wait()
	return float64(pairs/goroutines*goroutines) / time.Since(start).Seconds()
}

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	client, err := redlock.Open(redlock.Config{URLs: os.Args[2:]})
	if err != nil {
		log.Fatal(err)
	}
	lock, err := client.NewLock(redlock.Options{}, "pair")
	if err != nil {
		log.Fatal(err)
	}
	times := make([]time.Duration, rounds)
	for i := range times {
		times[i] = pair(lock)
	}
	times = times[rounds/11:] // the first ones connect
	sort.Slice(times, func(i, k int) bool { return times[i] < times[k] })
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	fmt.Printf("Go %.1f %.1f\n", us(times[len(times)/2]), us(times[len(times)*99/100]))
	fmt.Printf("Go-256 %.0f pairs/s\n", together(client, 256, 8*rounds))
	_ = client.Close()
}
