// The peer in Go: net/http as its documentation shows it. Usage: go-peer ADDRESS RECORD.json.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

type options struct {
	AvailableFromHour     int   `json:"availableFromHour"`
	AvailableUntilHour    int   `json:"availableUntilHour"`
	AltSchedule           []int `json:"altSchedule"`
	AltAvailableFromHour  int   `json:"altAvailableFromHour"`
	AltAvailableUntilHour int   `json:"altAvailableUntilHour"`
}

type record struct {
	ID                    string   `json:"_id"`
	TenantID              string   `json:"tenantId"`
	Name                  string   `json:"name"`
	Address               string   `json:"address"`
	Latitude              *float64 `json:"latitude,omitempty"`
	Longitude             *float64 `json:"longitude,omitempty"`
	Email                 *string  `json:"email,omitempty"`
	Phone                 *string  `json:"phone,omitempty"`
	SendICalNotifications bool     `json:"sendICalNotifications"`
	NotificationEmail     string   `json:"notificationEmail"`
	CateringOrderEmail    string   `json:"cateringOrderEmail"`
	Options               options  `json:"options"`
}

func text(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, body)
}

func main() {
	address, recordFile := os.Args[1], os.Args[2]
	source, err := os.ReadFile(recordFile)
	if err != nil {
		log.Fatal(err)
	}
	var office record
	if err := json.Unmarshal(source, &office); err != nil {
		log.Fatal(err)
	}
	var count atomic.Uint64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		text(w, "Hello, World!")
	})
	mux.HandleFunc("GET /json", func(w http.ResponseWriter, _ *http.Request) {
		body, err := json.Marshal(&office)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		ms, _ := strconv.Atoi(r.URL.Query().Get("ms"))
		time.Sleep(time.Duration(ms) * time.Millisecond)
		text(w, "slow")
	})
	mux.HandleFunc("GET /mixed", func(w http.ResponseWriter, _ *http.Request) {
		if count.Add(1)%20 == 0 {
			time.Sleep(20 * time.Millisecond)
			text(w, "slow")
			return
		}
		text(w, "fast")
	})
	log.Fatal(http.ListenAndServe(address, mux))
}
