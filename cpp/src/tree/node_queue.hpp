// The growth policy is a container: a stack grows depth-first, a heap best-first.
#pragma once
#include <algorithm>
#include <vector>

#include "committee/types.hpp"

namespace committee {

// Node needs `decrease` (double) and `order` (u64, ascending in the order of creation).
template <class Node>
class NodeQueue {
 public:
  explicit NodeQueue(bool best_first) : best_first_(best_first) {}
  bool empty() const { return nodes_.empty(); }
  void push(Node node) {
    nodes_.push_back(std::move(node));
    if (best_first_) std::push_heap(nodes_.begin(), nodes_.end(), comes_later);
  }
  Node pop() {
    if (best_first_) std::pop_heap(nodes_.begin(), nodes_.end(), comes_later);
    Node node = std::move(nodes_.back());
    nodes_.pop_back();
    return node;
  }

 private:
  static bool comes_later(const Node& a, const Node& b) {
    if (a.decrease != b.decrease) return a.decrease < b.decrease;
    return a.order > b.order;
  }
  bool best_first_;
  std::vector<Node> nodes_;
};

}  // namespace committee
