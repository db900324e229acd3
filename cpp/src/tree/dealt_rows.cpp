#include "tree/dealt_rows.hpp"

#include "committee/parallel.hpp"

namespace committee {

void DealtRows::deal(const Presort& presort, std::span<const u32> features, InterruptWatch& watch) {
  const std::size_t n = presort.n_rows, n_dealt = begins_.back();
  if (entries_.size() < features.size() * n_dealt)
    entries_ = AlignedBuffer<u64>(features.size() * n_dealt);
  slots_.assign(presort.n_cols, 0);
  std::vector<u64*> next(begins_.size());
  for (std::size_t slot = 0; slot < features.size(); ++slot) {
    watch.poll();
    slots_[features[slot]] = slot;
    for (std::size_t s = 0; s < begins_.size(); ++s)
      next[s] = entries_.data() + slot * n_dealt + begins_[s];
    const u32* order = presort.order.data() + features[slot] * n;
    const u32* rank = presort.rank.data() + features[slot] * n;
    for (std::size_t k = 0; k < n; ++k) {
      const u32 owner = owners_[order[k]];
      if (owner == kNone) continue;
      constexpr u32 kPlace = (1u << kPlaceBits) - 1;
      *next[owner >> kPlaceBits]++ = static_cast<u64>(rank[order[k]]) << 32 | (owner & kPlace);
    }
  }
}

}  // namespace committee
