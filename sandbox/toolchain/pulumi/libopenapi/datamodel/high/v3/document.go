// Package v3 has the operations of a document.
package v3

import (
	"github.com/pb33f/libopenapi/datamodel/high/base"
	"github.com/pb33f/libopenapi/orderedmap"
	"go.yaml.in/yaml/v4"
)

// The parts of a document that the engine reads.
type (
	Document struct {
		Info       *base.Info
		Components *Components
		Paths      *Paths
	}
	Components struct {
		Schemas *orderedmap.Map[string, *base.SchemaProxy]
	}
	Paths struct {
		PathItems *orderedmap.Map[string, *PathItem]
	}
	PathItem  struct{ Get, Post, Put, Delete, Patch, Head *Operation }
	Operation struct {
		Tags                              []string
		OperationId, Summary, Description string
		Parameters                        []*Parameter
		RequestBody                       *RequestBody
		Responses                         *Responses
		Deprecated                        *bool
		Extensions                        *orderedmap.Map[string, *yaml.Node]
	}
	Parameter struct {
		Name, In, Description string
		Required              *bool
		Schema                *base.SchemaProxy
	}
	RequestBody struct {
		Content *orderedmap.Map[string, *MediaType]
	}
	Responses struct {
		Codes   *orderedmap.Map[string, *Response]
		Default *Response
	}
	Response struct {
		Description string
		Content     *orderedmap.Map[string, *MediaType]
	}
	MediaType struct{ Schema *base.SchemaProxy }
)
