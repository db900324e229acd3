// What the trees of a forest share: tables that are made from the data once, and memory that one
// tree leaves to the next. Fresh pages cost as much as writing nodes into them.
#pragma once
#include <mutex>

#include "binning/packed_records.hpp"
#include "committee/grower.hpp"
#include "tree/ends_table.hpp"
#include "tree/fast/extra_trees_levels.hpp"
#include "tree/fast/extra_trees_values.hpp"
#include "tree/fast/multiclass_subtree.hpp"
#include "tree/fast/value_parts.hpp"

namespace committee {

struct TableCaches {
  bool all_numeric = false;                             // no column is categorical
  std::unique_ptr<const PackedRecords> packed_records;  // null: they save too little
  std::unique_ptr<const ExtraTreesTable> extra_trees;   // null: made where it is needed
  std::unique_ptr<const EndsTable> ends;  // of random thresholds in wide tables; null: none
  bool is_complete = false;  // no column is categorical, no value is missing, as far as asked
};
TableCaches make_caches(const GrowInput& input, const GrowParams& params, int n_threads);

// Of one tree at a time.
struct GrowthScratch {
  const TableCaches* caches = nullptr;
  GrownTree tree;
  ExtraTreesLevels extra_trees;
  std::unique_ptr<ExtraTreesValues> values;  // made by the first tree that needs it
  std::unique_ptr<MulticlassSubtree> multiclass;
  ClassTree classes;
  ValueParts numbers;
  // Which of them has the tree of compact_tree that was grown last.
  enum class Kept : u8 { extra_trees, values, classes, numbers } kept = Kept::extra_trees;

  // That tree as an arena.
  Trees compact(const GrowInput& input, const ArenaOptions& options) const {
    const std::vector<ColumnBins>& bins = *input.data->bins;
    if (kept == Kept::values) return values->tree().compact(bins, options);
    if (kept == Kept::numbers) return numbers.whole().compact(bins, options);
    if (kept == Kept::classes) return classes.compact(bins, options);
    return extra_trees.tree().compact(bins, options);
  }
  // Its importances, once.
  std::vector<double> take_importances(std::size_t n_features) {
    if (kept == Kept::values) return values->tree().summarise(n_features);
    if (kept == Kept::numbers) return numbers.whole().summarise(n_features);
    return kept == Kept::classes ? classes.importances() : extra_trees.tree().importances();
  }
};

class ScratchPool {
 public:
  explicit ScratchPool(const TableCaches& caches) : caches_(caches) {}
  std::unique_ptr<GrowthScratch> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      auto made = std::make_unique<GrowthScratch>();
      made->caches = &caches_;
      return made;
    }
    std::unique_ptr<GrowthScratch> taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }
  void give_back(std::unique_ptr<GrowthScratch> scratch) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
  }

 private:
  const TableCaches& caches_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<GrowthScratch>> free_;
};

}  // namespace committee
