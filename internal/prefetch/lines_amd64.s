#include "textflag.h"

// func lines(first, last unsafe.Pointer)
TEXT ·lines(SB), NOSPLIT, $0-16
	MOVQ first+0(FP), AX
	MOVQ last+8(FP), BX
	ANDQ $~63, AX
next:
	PREFETCHT0 (AX)
	ADDQ $64, AX
	CMPQ AX, BX
	JLS  next
	RET
