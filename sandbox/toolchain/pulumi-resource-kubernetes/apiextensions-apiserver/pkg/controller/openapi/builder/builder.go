// Package builder refuses to describe the kinds of a definition.
package builder

import (
	"errors"

	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

var errRefused = errors.New("types for the kinds of definitions are not part of the sandbox's plug-in")

// Options say what is left out of a description.
type Options struct{ V2, StripValueValidation, StripNullable, AllowNonStructural bool }

// BuildOpenAPIV2 refuses: the plug-in asks for it to add the kinds of definitions to a program's language.
func BuildOpenAPIV2(*v1.CustomResourceDefinition, string, Options) (*spec.Swagger, error) {
	return nil, errRefused
}

// MergeSpecs refuses.
func MergeSpecs(*spec.Swagger, ...*spec.Swagger) (*spec.Swagger, error) { return nil, errRefused }
