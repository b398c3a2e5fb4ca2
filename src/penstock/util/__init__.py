"""Lists, trees and names: helpers that know nothing of tensors."""
