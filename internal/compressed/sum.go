package compressed

import "hash/crc32"

// The CRC-32 of a text is the remainder of the text, as a polynomial over GF(2), modulo a
// fixed polynomial. Appending a second text multiplies the first one by x for each bit of
// the second. The remainder of the concatenation therefore follows from the two
// remainders. In the numbers of hash/crc32, the highest bit is the coefficient of x^0.

// multiply returns the remainder of the product of two polynomials.
func multiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a>>31 != 0 {
			product ^= b
		}
		// Multiply b by x.
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}

// shift returns the remainder of x to the power of the number of bits in a text of a size.
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
