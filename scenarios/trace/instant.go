package trace

import "time"

// looksLikeDate tells an attempt at a date ("2024-11-15 16:57") from a number, so that
// the error can say how to write a date.
func looksLikeDate(cell []byte) bool {
	return len(cell) >= 10 && cell[4] == '-' && cell[7] == '-' && allDigits(cell[:4], 4)
}

// instants reads RFC 3339 instants without allocating. The time package would make a
// Location for every zone offset, so the offset is cut off and subtracted here.
type instants struct{ utc []byte }

// parse returns nanoseconds since 1970. Instants before that, or more than 100 years
// after it, are tooLarge: the year is a slip of the pen.
func (p *instants) parse(cell []byte) (ns int64, v verdict) {
	local, offset, ok := cutOffset(cell)
	if !ok {
		return 0, malformed
	}
	p.utc = append(append(p.utc[:0], local...), 'Z')
	var t time.Time
	if t.UnmarshalText(p.utc) != nil { // Unlike Parse, it takes RFC 3339 strictly.
		return 0, malformed
	}
	seconds := t.Unix() - offset
	if seconds < 0 || seconds >= int64(maxSpan/time.Second) {
		return 0, tooLarge
	}
	return seconds*int64(time.Second) + int64(t.Nanosecond()), good
}

// cutOffset splits "…16:57:50+02:00" into its local part and the offset in seconds.
func cutOffset(cell []byte) (local []byte, seconds int64, ok bool) {
	const width = len("+02:00")
	if end := len(cell) - 1; end >= 0 && cell[end] == 'Z' {
		return cell[:end], 0, true
	}
	if len(cell) < width {
		return nil, 0, false
	}
	local, zone := cell[:len(cell)-width], cell[len(cell)-width:]
	if zone[0] != '+' && zone[0] != '-' || zone[3] != ':' || !allDigits(zone[1:], 2) {
		return nil, 0, false
	}
	hours, minutes := twoDigits(zone[1:]), twoDigits(zone[4:])
	seconds = (hours*60 + minutes) * 60
	if zone[0] == '-' {
		seconds = -seconds
	}
	return local, seconds, hours < 24 && minutes < 60
}

func twoDigits(b []byte) int64 { return int64(b[0]-'0')*10 + int64(b[1]-'0') }
