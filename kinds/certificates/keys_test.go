package certificates_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"time"
)

// The keys of the tests of this package.
var (
	edwardsKey  = must(generateEdwards())
	ellipticKey = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	otherKey    = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	shortKey    = must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	weakKey     = must(rsa.GenerateKey(rand.Reader, 2048))
	rsaKey      = must(rsa.GenerateKey(rand.Reader, 3072))
)

// issueTime is when the certificates are issued, since kube-apiserver compares their times with its clock.
var issueTime = time.Now().UTC().Truncate(time.Second)

func generateEdwards() (crypto.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// encoded returns data as clients write it in YAML.
func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// quoted returns a text of several lines as a YAML value.
func quoted(text string) string { return string(must(json.Marshal(text))) }

func pemBlock(kind string, data []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}

// stubRequest returns a PKCS#10 request that has nothing but a public key.
func stubRequest(key crypto.Signer) []byte {
	return must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key))
}

// pemRequest returns a PKCS#10 request in PEM, encoded.
func pemRequest(key crypto.Signer) string {
	return encoded([]byte(pemBlock("CERTIFICATE REQUEST", stubRequest(key))))
}

// damaged returns data whose last byte, in a signature, is another one.
func damaged(data []byte) []byte {
	out := bytes.Clone(data)
	out[len(out)-1] ^= 1
	return out
}

// certificate returns a certificate in PEM for a key, which lasts two hours.
func certificate(key crypto.Signer, change func(*x509.Certificate)) string {
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "c"}, BasicConstraintsValid: true,
		NotBefore: issueTime, NotAfter: issueTime.Add(2 * time.Hour),
	}
	if change != nil {
		change(c)
	}
	return pemBlock("CERTIFICATE", must(x509.CreateCertificate(rand.Reader, c, c, key.Public(), otherKey)))
}

// authority returns the certificate of an authority.
func authority(name string) string {
	return certificate(otherKey, func(c *x509.Certificate) { c.IsCA, c.Subject.CommonName = true, name })
}

func publicKey(key crypto.Signer) string {
	return encoded(must(x509.MarshalPKIXPublicKey(key.Public())))
}

// proofOf returns the signature of a pod's UID by a private key, encoded.
func proofOf(key crypto.Signer, uid string) string {
	digest, options := sha256.Sum256([]byte(uid)), crypto.SignerOpts(crypto.SHA256)
	signed := digest[:]
	switch key.(type) {
	case ed25519.PrivateKey:
		signed, options = []byte(uid), crypto.Hash(0)
	case *rsa.PrivateKey:
		options = &rsa.PSSOptions{Hash: crypto.SHA256}
	}
	return encoded(must(key.Sign(rand.Reader, signed, options)))
}

// provenKey returns edits of a request that has a public key with a proof of its private key.
func provenKey(key crypto.Signer, uid string) string {
	return "spec.stubPKCS10Request: null; spec.pkixPublicKey: " + publicKey(key) +
		"; spec.proofOfPossession: " + proofOf(key, uid)
}

// issued returns edits of a status that has a chain of certificates, whose first one lasts some time.
func issued(chain string, life time.Duration) string {
	return "status: {certificateChain: " + quoted(chain) + ", notBefore: " + after(0) + ", notAfter: " + after(life) +
		", beginRefreshAt: " + after(life/2) + ", conditions: [" + decided("Issued") + "]}"
}

// after returns a time after the certificates are issued.
func after(d time.Duration) string { return quoted(issueTime.Add(d).Format(time.RFC3339)) }

// decided returns a condition that completes a request.
func decided(how string) string {
	return "{type: " + how + `, status: "True", reason: R, message: m, lastTransitionTime: "2026-05-04T11:00:00Z"}`
}
