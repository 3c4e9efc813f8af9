// Package base has the schemas of a document.
package base

import (
	"github.com/pb33f/libopenapi/orderedmap"
	"go.yaml.in/yaml/v4"
)

// Schema has the fields of a JSON schema that the engine prints.
type Schema struct {
	Type, Required                                         []string
	Format, Pattern, Title, Description                    string
	MinLength, MaxLength, MinItems, MaxItems               *int64
	Minimum, Maximum, MultipleOf                           *float64
	AllOf, OneOf, AnyOf                                    []*SchemaProxy
	Properties                                             *orderedmap.Map[string, *SchemaProxy]
	Items, AdditionalProperties                            *SchemaOrBool
	Discriminator                                          *Discriminator
	Enum                                                   []*yaml.Node
	Const, Default                                         *yaml.Node
	Deprecated, Nullable, ReadOnly, WriteOnly, UniqueItems *bool
	Extensions                                             *orderedmap.Map[string, *yaml.Node]
}

// GoLow is the schema as it was written: never there.
func (*Schema) GoLow() *Low { return nil }

// MarshalJSONInline is the schema as JSON: empty.
func (*Schema) MarshalJSONInline() ([]byte, error) { return []byte("{}"), nil }

// Low is a schema as it was written.
type Low struct{}

// Hash is the same for each schema.
func (*Low) Hash() uint64 { return 0 }

// SchemaProxy stands for a schema, or for a reference to one.
type SchemaProxy struct{ schema *Schema }

// Schema is what the proxy stands for.
func (p *SchemaProxy) Schema() *Schema { return p.schema }

// GetReference is the path to the schema: never there.
func (*SchemaProxy) GetReference() string { return "" }

// IsReference says whether the schema is elsewhere.
func (*SchemaProxy) IsReference() bool { return false }

// SchemaOrBool is a schema, or true for any value.
type SchemaOrBool struct {
	A *SchemaProxy
	B bool
}

// IsA says whether it is a schema.
func (s *SchemaOrBool) IsA() bool { return s.A != nil }

// Discriminator says which field tells the kinds of an object apart.
type Discriminator struct {
	PropertyName string
	Mapping      *orderedmap.Map[string, string]
}

// Info describes the document.
type Info struct{ Version string }
