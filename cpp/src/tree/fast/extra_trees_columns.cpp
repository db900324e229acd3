#include "tree/fast/extra_trees_columns.hpp"

#include <algorithm>

namespace committee {

namespace {

// Rows of a node where a few features often have a split into pure children.
constexpr u32 kFewForPure = 12;
// Features that such a node draws in a turn, and any node that has found none so far.
constexpr u32 kFirstDraws = 8, kMoreDraws = 16, kLateDraws = 64;
constexpr std::size_t kMostDraws = std::size_t{1} << 20;  // of all nodes in a turn
constexpr u32 kPollColumns = 64;
}  // namespace

ExtraTreesColumns::ExtraTreesColumns(const BinnedMatrix& data, const EndsTable& ends,
                                     InterruptWatch& watch)
    : data_(data),
      watch_(watch),
      search_(data, ends),
      order_(data.n_cols),
      starts_(data.n_cols + 1) {
  for (u32 k = 0; k < order_.size(); ++k) order_[k] = k;
}

void ExtraTreesColumns::add_tree(const GrowInput& input, const GrowParams& params) {
  members_.push_back({KeyPrefix(combine_keys(params.seed, params.tree)),
                      LeafTest(params),
                      params.member_features,
                      0,
                      {}});
  Member& member = members_.back();
  member.n_wanted = std::min(params.max_features, count_pool(member));
  const std::size_t begin = rows_.size();
  const auto add_rows = [&](u32 label) {
    for (std::size_t row = 0; row < data_.n_rows; ++row) {
      if (!input.counts.empty() && input.counts[row] == 0) continue;
      if (input.target.labels[row] == label) rows_.push_back(static_cast<u16>(row));
    }
  };
  add_rows(1);
  const u32 n_positive = static_cast<u32>(rows_.size() - begin);
  add_rows(0);
  const u32 n_rows = static_cast<u32>(rows_.size() - begin);
  member.tree.width = 2;
  member.tree.reserve(n_rows, 2);
  open({{.begin = static_cast<u32>(begin),
         .n_rows = n_rows,
         .n_positive = n_positive,
         .numbers = NodeNumbers(member.key, kRootKey)},
        {.member = static_cast<u32>(members_.size() - 1), .key = kRootKey}});
}

// Adds a node to its tree, which stays a leaf or is split in the turns to come.
void ExtraTreesColumns::open(OpenNode open) {
  Member& member = members_[open.place.member];
  const Node& node = open.node;
  const double value[2] = {static_cast<double>(node.n_rows - node.n_positive),
                           static_cast<double>(node.n_positive)};
  open.place.id = member.tree.add_node(node.n_rows, node.n_rows, 0.0, value);
  const bool is_pure = node.n_positive == 0 || node.n_positive == node.n_rows;
  if (!member.leaf_test.is_leaf(node.n_rows, open.place.depth, is_pure)) next_.push_back(open);
}

void ExtraTreesColumns::grow() {
  for (auto* rows : {&rows_, &right_rows_}) rows->resize(rows_.size() + kRowLanes);
  while (!next_.empty()) {
    take_nodes();
    take_words();
    draw();
    sort_draws();
    search();
    settle();
  }
  write_thresholds();
}

// The nodes of a turn: all that are open, as long as what they draw is not too much to keep. Those
// of about as many rows follow one another, so that the loops over their rows can be foreseen.
void ExtraTreesColumns::take_nodes() {
  std::size_t n_draws = 0, first = next_.size();
  for (; first > 0 && n_draws < kMostDraws; --first)
    n_draws += std::max(members_[next_[first - 1].place.member].n_wanted, kLateDraws);
  constexpr std::size_t kSizes = 128;
  const auto size_of = [](const OpenNode& open) {
    return std::min<std::size_t>((open.node.n_rows - 1) / (kRowLanes / 2), kSizes - 1);
  };
  u32 ends[kSizes] = {};
  const std::span<const OpenNode> taken(next_.data() + first, next_.size() - first);
  for (const OpenNode& open : taken) ++ends[size_of(open)];
  u32 end = 0;
  for (u32& own : ends) own = end += own;
  nodes_.resize(taken.size(), next_.back().node);
  places_.resize(taken.size());
  for (const OpenNode& open : taken) {
    const u32 at = --ends[size_of(open)];
    nodes_[at] = open.node;
    places_[at] = open.place;
  }
  next_.resize(first, next_.back());
}

// Room for the bits of the nodes' rows, and the sets of those that have some.
void ExtraTreesColumns::take_words() {
  std::size_t n_left = 0, n_sets = 0;
  for (Node& node : nodes_) {
    const std::size_t n_words = search_.count_left_words(node.n_rows);
    if (n_words > 0) node.left = n_left;
    n_left += n_words;
    if (!search_.wants_sets(node.n_rows)) continue;
    node.sets = static_cast<u32>(n_sets);
    n_sets += 2 * search_.count_set_words();
  }
  if (left_.size() < n_left) left_.resize(n_left);
  if (sets_.size() < n_sets) sets_.resize(n_sets);
  for (const Node& node : nodes_) {
    if (node.sets != Node::kNone)
      search_.write_sets({rows_.data() + node.begin, node.n_rows}, node.n_positive,
                         sets_.data() + node.sets);
  }
}

void ExtraTreesColumns::draw() {
  draws_.clear();
  drawn_features_.clear();
  for (u32 k = 0; k < nodes_.size(); ++k) draw_features(k);
}

// Draws so many more features as a node wants in this turn.
void ExtraTreesColumns::draw_features(u32 number) {
  const Node& node = nodes_[number];
  Place& place = places_[number];
  const Member& member = members_[place.member];
  const u32 n_pool = count_pool(member), n_before = place.n_drawn;
  const bool is_late = n_before >= member.n_wanted;
  u32 n_drawn = member.n_wanted;
  if (is_late) {
    n_drawn = std::min(n_pool, n_before + kLateDraws);
  } else if (node.n_rows <= kFewForPure) {
    n_drawn = std::min(n_drawn, n_before + (n_before == 0 ? kFirstDraws : kMoreDraws));
  }
  // As FeatureSampler has it: draws swap places of a list, which is put back in order at the end.
  swaps_.resize(n_drawn);
  for (u32 k = 0; k < n_drawn; ++k)
    swaps_[k] = k + scale_below(node.numbers.at(Purpose::features, k), n_pool - k);
  for (u32 k = 0; k < n_drawn; ++k) std::swap(order_[k], order_[swaps_[k]]);
  const std::size_t first = draws_.size();
  draws_.resize(first + n_drawn - n_before);
  drawn_features_.resize(draws_.size());
  for (u32 k = n_before; k < n_drawn; ++k) {
    const u32 at = order_[k];
    drawn_features_[first + k - n_before] = member.pool.empty() ? at : member.pool[at];
    draws_[first + k - n_before] = {number, (k + 1) | (is_late ? Draw::kLate : 0)};
  }
  for (u32 k = n_drawn; k-- > 0;) std::swap(order_[k], order_[swaps_[k]]);
  place.n_drawn = n_drawn;
}

// By feature.
void ExtraTreesColumns::sort_draws() {
  std::fill(starts_.begin(), starts_.end(), 0u);
  for (const u32 feature : drawn_features_) ++starts_[feature];
  u32 end = 0;
  for (u32& start : starts_) start = end += start;
  sorted_.resize(draws_.size());
  for (std::size_t k = draws_.size(); k-- > 0;) sorted_[--starts_[drawn_features_[k]]] = draws_[k];
}

void ExtraTreesColumns::search() {
  const std::size_t many = data_.n_rows / 512 + 1;  // draws that pay for reading a whole column
  search_.begin({rows_.data(), nodes_.data(), sets_.data(), left_.data()});
  for (u32 feature = 0; feature < data_.n_cols; ++feature) {
    const u32 first = starts_[feature], last = starts_[feature + 1];
    if (feature % kPollColumns == 0) watch_.poll();
    if (first == last) continue;
    const bool has_next = feature + 1 < data_.n_cols && starts_[feature + 2] - last >= many;
    search_.search(feature, {sorted_.data() + first, last - first},
                   has_next ? feature + 1 : Node::kNone);
  }
}

bool ExtraTreesColumns::is_settled(std::size_t k) const {
  const Node& node = nodes_[k];
  const double enough =
      static_cast<double>(node.n_positive) * static_cast<double>(node.n_rows - node.n_positive);
  return node.priority != Node::kNone &&
         (places_[k].n_drawn >= members_[places_[k].member].n_wanted || node.score >= enough);
}

// What the splits of some nodes to come read lies far apart: it is on its way before.
void ExtraTreesColumns::prefetch_splits(std::size_t k) const {
  constexpr std::size_t kBefore = 8;
  if (k + kBefore >= nodes_.size()) return;
  prefetch(&rows_[nodes_[k + kBefore].begin]);
}

// Nodes that have a split are split, others draw again.
void ExtraTreesColumns::settle() {
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    prefetch_splits(k);
    if (is_settled(k)) {
      split(nodes_[k], places_[k]);
    } else if (places_[k].n_drawn < count_pool(members_[places_[k].member])) {
      next_.push_back({nodes_[k], places_[k]});
    }
  }
}

void ExtraTreesColumns::split(Node& node, const Place& place) {
  search_.partition(node, rows_.data() + node.begin, right_rows_.data());
  const Member& member = members_[place.member];
  GrownTree& tree = members_[place.member].tree;
  GrownTree::Split& split = tree.splits[place.id];
  split.feature = node.feature;
  cuts_.push_back({node.feature, node.bin, place.member, place.id});
  split.missing_left = 2 * node.n_left > node.n_rows;
  tree.left[place.id] = static_cast<u32>(tree.size());
  tree.right[place.id] = static_cast<u32>(tree.size() + 1);
  const u64 left_key = child_key(place.key, false), right_key = child_key(place.key, true);
  open({{.begin = node.begin,
         .n_rows = node.n_left,
         .n_positive = node.left_positive,
         .numbers = NodeNumbers(member.key, left_key)},
        {.member = place.member, .depth = place.depth + 1, .key = left_key}});
  open({{.begin = node.begin + node.n_left,
         .n_rows = node.n_rows - node.n_left,
         .n_positive = node.n_positive - node.left_positive,
         .numbers = NodeNumbers(member.key, right_key)},
        {.member = place.member, .depth = place.depth + 1, .key = right_key}});
}

// A feature after the other: thresholds of thousands of columns are not close to one another.
void ExtraTreesColumns::write_thresholds() {
  std::fill(starts_.begin(), starts_.end(), 0u);
  for (const Cut& cut : cuts_) ++starts_[cut.feature];
  u32 end = 0;
  for (u32& start : starts_) start = end += start;
  std::vector<const Cut*> sorted(cuts_.size());
  for (const Cut& cut : cuts_) sorted[--starts_[cut.feature]] = &cut;
  for (const Cut* cut : sorted)
    members_[cut->member].tree.splits[cut->id].threshold =
        (*data_.bins)[cut->feature].thresholds[cut->bin];
}

}  // namespace committee
