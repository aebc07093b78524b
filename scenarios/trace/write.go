package trace

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteCSV writes what is left of a trace in the one form that all others are turned into:
// arrival,duration,kind with plain seconds, exact to the nanosecond. Reading it gives the
// same jobs. The first error ends it, and out then has a part of the trace.
func WriteCSV(out io.Writer, r *Reader) error {
	buffered := bufio.NewWriter(out)
	line := []byte("arrival,duration,kind\n")
	for {
		if _, err := buffered.Write(line); err != nil {
			return err
		}
		job, err := r.Next()
		if errors.Is(err, io.EOF) {
			return buffered.Flush()
		}
		if err != nil {
			return err
		}
		line = append(appendSeconds(line[:0], job.Arrival), ',')
		line = append(appendSeconds(line, job.Duration), ',')
		line = append(appendCell(line, job.Kind), '\n')
	}
}

// appendSeconds writes a duration that is not negative without a float: 0.1 stays 0.1.
func appendSeconds(b []byte, d time.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/time.Second), 10)
	rest := int64(d % time.Second)
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for scale := int64(time.Second / 10); rest > 0; scale /= 10 {
		b = append(b, byte('0'+rest/scale))
		rest %= scale
	}
	return b
}

// appendCell quotes what would not be read back as it is.
func appendCell(b []byte, text string) []byte {
	if !strings.ContainsAny(text, ",\"\n\r") {
		return append(b, text...)
	}
	return append(append(append(b, '"'), strings.ReplaceAll(text, `"`, `""`)...), '"')
}
