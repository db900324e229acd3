// The growing of one tree over one accumulator: pop a node, partition its rows, open its children.
// Defined in tree/builder_loop.hpp and tree/builder_search.hpp, compiled in builder_<family>.cpp.
#pragma once
#include <mutex>

#include "tree/growth_context.hpp"
#include "tree/node_queue.hpp"

namespace committee {

class RemoteNodes;
template <class Accumulator>
struct GrowthWorker;

template <class Accumulator>
class TreeBuilder {
 public:
  TreeBuilder(const GrowthPlan& plan, Sample<Accumulator>& sample);
  ~TreeBuilder();
  TreePart grow();
  // The same over rows that lie in blocks elsewhere (tree/builder_blocks.hpp).
  COMMITTEE_COLD TreePart grow_over(RemoteNodes& blocks);
  // Of the tree that was grown.
  RouteCounts count_nodes() const;

 private:
  using Element = typename Accumulator::Element;
  using Item = typename Accumulator::Item;
  using Worker = GrowthWorker<Accumulator>;  // what one thread at a time uses
  using Node = OpenNode<Element>;
  class PooledWorker;  // a worker borrowed from the pool
  struct Found {
    Candidate best;
    double decrease = 0.0;
  };

  // The loop.
  COMMITTEE_COLD Node make_root() const;
  // Whether the node's subtree is grown by SubtreeBuilder.
  bool is_subtree(const Node& node, bool may_defer) const {
    return context_.takes(Route::subtree) && !may_defer && !context_.fits_dense(node.size()) &&
           (!params_.exact || node.size() <= kExactRows);
  }
  void run(Node root, TreePart& part, Worker& worker, bool may_defer);
  void grow_postponed(TreePart& part, Worker& worker);
  void open_node(Node node, TreePart& part, Worker& worker, NodeQueue<Node>& queue, bool may_defer);
  void split_node(Node node, TreePart& part, Worker& worker, NodeQueue<Node>& queue,
                  bool may_defer);
  void make_children(const Node& node, std::size_t n_left, Node& left, Node& right) const;
  void write_node(Node& node, TreePart& part, Worker& worker);
  COMMITTEE_COLD void grow_deferred(TreePart& part);
  void sum_items(const NodePosition& node, Worker& worker) const;
  bool is_left_heavier(const Node& node, std::size_t n_left) const;
  void share_total(const Node& node, Node& smaller, Node& larger, Worker& worker) const;
  void bound_children(const Node& node, Node& left, Node& right) const;
  COMMITTEE_COLD std::shared_ptr<const std::vector<u32>> allowed_features(
      const std::vector<u64>& groups) const;

  // Over blocks. Their steps wait for answers: small code, which compiles faster, is as good.
  struct DividedNode;
  COMMITTEE_COLD std::vector<Node> take_batch(NodeQueue<Node>& queue, u32& n_leaves) const;
  COMMITTEE_COLD DividedNode plan_division(Node node, TreePart& part, RemoteNodes& blocks) const;
  COMMITTEE_COLD bool may_divide(u32 depth, const std::vector<Element>& total,
                                 Worker& worker) const;
  COMMITTEE_COLD void open_remote(std::vector<Node> nodes, TreePart& part, Worker& worker,
                                  NodeQueue<Node>& queue, RemoteNodes& blocks);
  COMMITTEE_COLD std::vector<Node> divide_remote(std::vector<Node> batch, TreePart& part,
                                                 Worker& worker, RemoteNodes& blocks);
  COMMITTEE_COLD void close_remote(TreePart& part, RemoteNodes& blocks) const;

  // The search in a node.
  bool find_split(Node& node, Worker& worker);
  void search_all(Node& node, Worker& worker, Found& found);
  void search_in_parallel(const Node& node, std::span<const u32> features, Worker& worker,
                          Found& found);
  void search_drawn(const Node& node, Worker& worker, Found& found);
  void search_drawn_entries(const Node& node, Worker& worker, Found& found);
  void narrow_features(Node& node, Worker& worker) const;
  NodeLimits limits_of(const Node& node) const;
  void build_dense(Node& node);
  void share_histograms(Node& node, Node& left, Node& right);
  const std::vector<u32>& features_of(const Node& node) const {
    return node.features ? *node.features : context_.all_features;
  }

  const GrowthContext<Accumulator> context_;
  const GrowthPlan& plan_;
  const GrowParams& params_;
  const Accumulator& accumulator_;
  u64 next_order_ = 0;
  std::vector<Node> deferred_;
  std::size_t defer_rows_ = 0;
  std::mutex pool_mutex_;
  std::vector<std::unique_ptr<Worker>> pool_;
};

}  // namespace committee
