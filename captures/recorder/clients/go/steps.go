// Scenario steps for franz-go and sarama: BOOTSTRAP [key=value...] LIBRARY-STEP...
//
// Keys: user, password and mechanism for SASL, ca for TLS, version for sarama's protocol versions,
// handshake=0 for sarama's raw SASL tokens.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
)

type config map[string]string

type step func(bootstrap []string, config config) (any, error)

const note = "abababababababababababababababababababab"

func value(label string, number int) []byte {
	return fmt.Appendf(nil, `{"order": %d, "codec": %q, "note": %q}`, number, label, note)
}

// tlsConfig trusts the authority of the key "ca"; names are not checked as the brokers have addresses only.
func (c config) tlsConfig() (*tls.Config, error) {
	if c["ca"] == "" {
		return nil, nil
	}
	certificate, err := os.ReadFile(c["ca"])
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return &tls.Config{RootCAs: pool, InsecureSkipVerify: true}, nil
}

func main() {
	bootstrap := strings.Split(os.Args[1], ",")
	settings := config{}
	for _, word := range os.Args[2:] {
		if key, text, found := strings.Cut(word, "="); found {
			settings[key] = text
		}
	}
	for _, word := range os.Args[2:] {
		if strings.Contains(word, "=") {
			continue
		}
		run, known := steps[word]
		if !known {
			fmt.Fprintln(os.Stderr, "no step", word)
			os.Exit(2)
		}
		result, err := run(bootstrap, settings)
		if err != nil {
			fmt.Printf("-- %s: %v\n", word, err)
		} else {
			fmt.Printf("-- %s: %v\n", word, result)
		}
	}
}
