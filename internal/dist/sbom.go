package main

import (
	"crypto/sha512"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// bom is a software bill of materials in the format CycloneDX 1.6.
type bom struct {
	Format       string      `json:"bomFormat"`
	SpecVersion  string      `json:"specVersion"`
	SerialNumber string      `json:"serialNumber"`
	Version      int         `json:"version"`
	Metadata     bomMetadata `json:"metadata"`
	Components   []component `json:"components"`
}

type bomMetadata struct {
	Component component `json:"component"`
}

// component is a program, a module, or the standard library.
type component struct {
	Type     string    `json:"type"`
	Ref      string    `json:"bom-ref,omitempty"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	PURL     string    `json:"purl,omitempty"`
	Hashes   []bomHash `json:"hashes,omitempty"`
	Pedigree *pedigree `json:"pedigree,omitempty"`
}

type bomHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// pedigree says that a module was changed for the program.
type pedigree struct {
	Notes string `json:"notes"`
}

// writeBOM writes the bill of materials of a program, from its build information.
func writeBOM(to, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha512.Sum512(content)
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID with content of its own, version 8
	main := moduleComponent(&info.Main)
	main.Type, main.Hashes = "application", []bomHash{{"SHA-512", hex.EncodeToString(sum[:])}}
	b := bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		SerialNumber: fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
		Metadata:     bomMetadata{main},
		Components: []component{{Type: "library", Ref: "std", Name: "std", Version: info.GoVersion,
			PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}},
	}
	for _, module := range info.Deps {
		b.Components = append(b.Components, moduleComponent(module))
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return errors.Join(err, os.WriteFile(to, append(text, '\n'), 0o644))
}

func moduleComponent(m *debug.Module) component {
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && m.Sum != "" {
		c.Hashes = []bomHash{{"SHA-256", hex.EncodeToString(sum)}}
	}
	if m.Replace != nil {
		c.Pedigree = &pedigree{Notes: "changed by the patches in internal/dist/slim.go"}
	}
	return c
}
