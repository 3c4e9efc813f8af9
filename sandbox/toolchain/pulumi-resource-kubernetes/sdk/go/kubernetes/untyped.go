// Package kubernetes has the inputs of a resource of any kind.
package kubernetes

import "reflect"

// UntypedArgs are the fields of a manifest.
type UntypedArgs map[string]any

// ElementType makes them an input of a resource.
func (UntypedArgs) ElementType() reflect.Type {
	return reflect.TypeFor[UntypedArgs]()
}
