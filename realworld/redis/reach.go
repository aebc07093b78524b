package redis

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redis/rueidis"
)

// asWritten is what a URL looks like.
const asWritten = "redis://user:password@host:6379/0"

// parseURL reads Options.URL. Its error does not show the URL, which may have a password in it.
func parseURL(text string) (rueidis.ClientOption, error) {
	option, err := rueidis.ParseURL(text)
	var malformed *url.Error
	switch {
	case errors.As(err, &malformed):
		return option, fmt.Errorf("redis: URL: it cannot be read; write it like %s, and %%40 for an @ in the password, as in every URL", asWritten)
	case err != nil:
		return option, fmt.Errorf("redis: URL: %s; write it like %s", strings.TrimPrefix(err.Error(), "redis: "), asWritten)
	}
	return option, nil
}

// withRemedy says beside why Open failed what to do about it, where that is known.
func withRemedy(err error) error {
	var said *rueidis.RedisError
	var network *net.OpError
	remedy := ""
	switch {
	case errors.As(err, &said):
		code, _, _ := strings.Cut(said.Error(), " ")
		remedy = map[string]string{
			"NOAUTH":    "the URL names no password; write it like " + asWritten,
			"WRONGPASS": "correct user and password in the URL",
			"NOPERM":    "give the user the rights that docs/redis.md lists",
			"READONLY":  "it is a replica; name the primary, or its sentinels with master_set",
			"LOADING":   "it reads its file; try again soon",
		}[code]
	case errors.As(err, &network):
		remedy = "start the server, or correct the URL"
	}
	if remedy == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, remedy)
}
