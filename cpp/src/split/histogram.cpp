#include "split/histogram.hpp"

namespace committee {

template FillTable<BinaryAccumulator> list_fills(const BinaryAccumulator&);
template FillTable<ClassAccumulator<u32>> list_fills(const ClassAccumulator<u32>&);
template FillTable<ClassAccumulator<u64>> list_fills(const ClassAccumulator<u64>&);
template FillTable<MomentAccumulator<false>> list_fills(const MomentAccumulator<false>&);
template FillTable<MomentAccumulator<true>> list_fills(const MomentAccumulator<true>&);

}  // namespace committee
