#include "textflag.h"

// func lines(first, last unsafe.Pointer)
TEXT ·lines(SB), NOSPLIT, $0-16
	MOVD first+0(FP), R0
	MOVD last+8(FP), R1
	AND  $~63, R0, R0
next:
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0, R0
	CMP  R1, R0
	BLS  next
	RET
