package compressed

import "hash/crc32"

// A CRC-32 is what is left of a text, taken as a polynomial over GF(2), when it is
// divided by a certain one. Of two texts, one after the other, the first is
// multiplied by x for each bit of the second; so what is left of both follows from
// what is left of each. In the numbers that hash/crc32 gives, the highest bit
// stands for x^0.

// multiply multiplies two polynomials and gives what is left of the product.
func multiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a>>31 != 0 {
			product ^= b
		}
		// b is multiplied by x, and so for every bit of a.
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}

// shift is what is left of x to the power of the bits of a text.
func shift(size int) uint32 {
	out, power := uint32(1)<<31, uint32(1)<<(31-8) // x^0 and x^8
	for ; size > 0; size >>= 1 {
		if size&1 != 0 {
			out = multiply(out, power)
		}
		power = multiply(power, power)
	}
	return out
}
