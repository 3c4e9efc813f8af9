// Package orderedmap has maps without entries.
package orderedmap

import "iter"

// Map is an empty map.
type Map[K comparable, V any] struct{}

// New is an empty map.
func New[K comparable, V any]() *Map[K, V] { return &Map[K, V]{} }

// Len is 0.
func Len[K comparable, V any](*Map[K, V]) int { return 0 }

// Get finds nothing.
func (*Map[K, V]) Get(K) (value V, found bool) { return }

// GetOrZero finds nothing.
func (*Map[K, V]) GetOrZero(K) (value V) { return }

// Set keeps nothing.
func (*Map[K, V]) Set(K, V) (old V, found bool) { return }

// FromOldest has no entries.
func (*Map[K, V]) FromOldest() iter.Seq2[K, V] { return func(func(K, V) bool) {} }

// KeysFromOldest has no keys.
func (*Map[K, V]) KeysFromOldest() iter.Seq[K] { return func(func(K) bool) {} }

// Delete finds nothing.
func (*Map[K, V]) Delete(K) (old V, found bool) { return }
