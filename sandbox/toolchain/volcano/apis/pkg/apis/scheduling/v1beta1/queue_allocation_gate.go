// Package v1beta1 has what version 1.15.1 of this module would add to 1.14.0: that version is not published by itself.
package v1beta1

// QueueAllocationGateKey is the name of the scheduling gate by which a queue holds pods back, and of the annotation that
// asks for it. Source: volcano v1.15.1, docs/design/scheduling-gates-queue-admission.md.
const QueueAllocationGateKey = GroupName + "/queue-allocation-gate"
