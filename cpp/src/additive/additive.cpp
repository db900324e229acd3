#include "committee/additive.hpp"

#include <algorithm>
#include <stdexcept>

#include "additive/bag.hpp"
#include "committee/parallel.hpp"

namespace committee {

namespace {

constexpr std::size_t kPairsPerTask = 16;

void check_feature(const BinnedMatrix& data, u32 feature) {
  if (feature >= data.n_cols) throw std::invalid_argument("a term names an unknown feature");
}

}  // namespace

AdditiveBoosting::AdditiveBoosting(const AdditiveInput& input, const AdditiveParams& params)
    : input_(input), params_(params), fine_(input.data->n_cols) {
  const std::size_t n = input.data->n_rows;
  if (n == 0 || n >= kMissingCode || input.n_bags == 0)
    throw std::invalid_argument("there must be rows and bags");
  if (input.target.size() != n || (!input.weights.empty() && input.weights.size() != n) ||
      input.held_out.size() != n * input.n_bags)
    throw std::invalid_argument("target, weights and held_out must have an entry a row");
  if (input.loss->shape().rule != LeafRule::newton)
    throw std::invalid_argument("additive models have losses with Newton steps only");
  for (std::size_t bag = 0; bag < input.n_bags; ++bag) {
    bool learns = false;
    for (std::size_t i = 0; i < n; ++i) {
      const double weight = input.weights.empty() ? 1.0 : input.weights[i],
                   out = input.held_out[bag * n + i];
      if (!(out >= 0.0 && out <= weight))
        throw std::invalid_argument("a row cannot be held out more often than it is there");
      learns = learns || out < weight;
    }
    if (!learns) throw std::invalid_argument("every bag must have rows to learn from");
    bags_.push_back(std::make_unique<AdditiveBag>(input_, params_, bag));
  }
}

AdditiveBoosting::~AdditiveBoosting() = default;

u32 AdditiveBoosting::count_bins(std::size_t feature) const {
  return fine_[feature].n_bins ? fine_[feature].n_bins : (*input_.data->bins)[feature].n_bins;
}

void AdditiveBoosting::set_bins(u32 feature, u32 n_bins, std::span<const u16> codes) {
  check_feature(*input_.data, feature);
  // Terms point to the codes.
  if (!terms_.empty()) throw std::invalid_argument("bins are set before the terms begin");
  if ((*input_.data->bins)[feature].categorical)
    throw std::invalid_argument("categories have the bins of the data");
  if (codes.size() != input_.data->n_rows || n_bins == 0 ||
      std::any_of(codes.begin(), codes.end(), [&](u16 code) { return code > n_bins; }))
    throw std::invalid_argument("every row must have a bin, or n_bins where its value is missing");
  fine_[feature].n_bins = n_bins;
  fine_[feature].codes = AlignedBuffer<u16>(codes.size());
  std::copy(codes.begin(), codes.end(), fine_[feature].codes.data());
}

void AdditiveBoosting::start_features(std::span<const u32> features, std::span<const int> signs) {
  if (signs.size() != features.size())
    throw std::invalid_argument("every feature must have a sign");
  const BinnedMatrix& data = *input_.data;
  std::vector<AdditiveTerm> made;  // bags keep the terms of before if one is refused
  for (std::size_t t = 0; t < features.size(); ++t) {
    const u32 f = features[t];
    check_feature(data, f);
    const ColumnBins& bins = (*data.bins)[f];
    AdditiveTerm& term = made.emplace_back();
    term.n_values = count_bins(f);
    term.order = bins.categorical ? CellOrder::categorical : CellOrder::numeric;
    term.sign = signs[t];
    if (fine_[f].n_bins) {
      term.n_slots = term.n_values + std::size_t{1};
      term.missing_slot = term.n_values;
      term.codes = static_cast<const u16*>(fine_[f].codes.data());
      continue;
    }
    if (!bins.wide) {
      term.n_slots = 256;
      term.missing_slot = kMissingBin;
      if (data.has_bytes(f)) {
        term.codes = data.column(f);
        continue;
      }
      std::vector<u8> room;
      const u8* const bytes = data.read_column(f, room);
      term.byte_codes = AlignedBuffer<u8>(data.n_rows);
      std::copy_n(bytes, data.n_rows, term.byte_codes.data());
      term.codes = static_cast<const u8*>(term.byte_codes.data());
      continue;
    }
    term.n_slots = bins.n_bins + 1;
    term.missing_slot = bins.n_bins;
    term.level_codes = AlignedBuffer<u32>(data.n_rows);
    for (std::size_t i = 0; i < data.n_rows; ++i)
      term.level_codes[i] = std::min(data.wide[f][i], bins.n_bins);
    term.codes = static_cast<const u32*>(term.level_codes.data());
  }
  for (const auto& bag : bags_) bag->start(made);
  features_.clear();
  terms_ = std::move(made);
}

void AdditiveBoosting::set_cells(std::span<const u64> offsets, std::span<const u8> cells) {
  const BinnedMatrix& data = *input_.data;
  if (offsets.size() != data.n_cols + 1 || offsets.front() != 0 || offsets.back() != cells.size())
    throw std::invalid_argument("every feature must have cells");
  std::vector<u32> n_cells(data.n_cols, 0);
  std::vector<AlignedBuffer<u8>> made;
  for (std::size_t f = 0; f < data.n_cols; ++f) {
    const ColumnBins& bins = (*data.bins)[f];
    const u32 n_bins = count_bins(f);
    if (offsets[f + 1] < offsets[f] || offsets[f + 1] - offsets[f] != std::size_t{n_bins} + 1)
      throw std::invalid_argument("every bin and the missing values must have a cell");
    const u8* const own = cells.data() + offsets[f];
    n_cells[f] = *std::max_element(own, own + n_bins + 1) + 1u;
    AlignedBuffer<u8>& codes = made.emplace_back(AlignedBuffer<u8>(data.n_rows));
    if (fine_[f].n_bins) {
      for (std::size_t i = 0; i < data.n_rows; ++i) codes[i] = own[fine_[f].codes[i]];
      continue;
    }
    std::vector<u8> room;
    const u8* const bytes = bins.wide ? nullptr : data.read_column(f, room);
    for (std::size_t i = 0; i < data.n_rows; ++i)
      codes[i] = own[std::min(bins.wide ? data.wide[f][i] : u32{bytes[i]}, n_bins)];
  }
  cells_ = std::move(made);
  n_cells_ = std::move(n_cells);
}

std::vector<double> AdditiveBoosting::rank_pairs(std::span<const FeaturePair> pairs, int n_jobs,
                                                 InterruptWatch& watch) const {
  if (cells_.empty()) throw std::invalid_argument("pairs need cells");
  if (has_pairs()) throw std::invalid_argument("pairs are ranked before their terms begin");
  for (const FeaturePair& pair : pairs) {
    check_feature(*input_.data, pair.first);
    check_feature(*input_.data, pair.second);
  }
  const std::size_t n_rows = input_.data->n_rows;
  const double bag_work = 20.0 * static_cast<double>(n_rows) * n_scores();
  const double pair_work = 2.0 * static_cast<double>(n_rows) * n_scores() + 2e4;
  const std::size_t n_chunks = (pairs.size() + kPairsPerTask - 1) / kPairsPerTask;
  const double work = n_bags() * (bag_work + pairs.size() * pair_work);
  const int n_threads = choose_threads(n_jobs, work, kThreadCost);
  const std::size_t n_cols = cells_.size();
  std::vector<u8> can_pair(n_bags() * n_cols, 0);
  parallel_for(n_bags(), n_threads, [&](std::size_t bag) {
    watch.poll();
    bags_[bag]->settle(terms_);
    bags_[bag]->find_gradients();
    for (std::size_t f = 0; f < n_cols; ++f)
      can_pair[bag * n_cols + f] = bags_[bag]->can_pair(cells_[f].data(), n_cells_[f]);
  });
  std::vector<double> gains(n_bags() * pairs.size(), 0.0);
  parallel_for(n_bags() * n_chunks, n_threads, [&](std::size_t task) {
    const std::size_t bag = task / n_chunks, first = task % n_chunks * kPairsPerTask;
    for (std::size_t p = first; p < std::min(pairs.size(), first + kPairsPerTask); ++p) {
      watch.poll();
      const auto [a, b] = pairs[p];
      if (!can_pair[bag * n_cols + a] || !can_pair[bag * n_cols + b]) continue;
      gains[bag * pairs.size() + p] =
          bags_[bag]->rank_grid(cells_[a].data(), cells_[b].data(), n_cells_[a], n_cells_[b]);
    }
  });
  std::vector<double> means(pairs.size(), 0.0);
  for (std::size_t bag = 0; bag < n_bags(); ++bag) {
    for (std::size_t p = 0; p < pairs.size(); ++p) means[p] += gains[bag * pairs.size() + p];
  }
  for (double& mean : means) mean /= static_cast<double>(n_bags());
  return means;
}

void AdditiveBoosting::start_pairs(std::span<const FeaturePair> pairs) {
  if (cells_.empty()) throw std::invalid_argument("pairs need cells");
  if (pairs.empty()) throw std::invalid_argument("there must be pairs");
  const BinnedMatrix& data = *input_.data;
  std::vector<AdditiveTerm> made;
  for (const FeaturePair& pair : pairs) {
    check_feature(data, pair.first);
    check_feature(data, pair.second);
    AdditiveTerm& term = made.emplace_back();
    term.n_grid_rows = n_cells_[pair.first];
    term.n_columns = n_cells_[pair.second];
    term.n_slots = std::size_t{term.n_grid_rows} * term.n_columns;
    term.pair_codes = AlignedBuffer<u16>(data.n_rows);
    const u8 *const first = cells_[pair.first].data(), *const second = cells_[pair.second].data();
    for (std::size_t i = 0; i < data.n_rows; ++i)
      term.pair_codes[i] = static_cast<u16>(first[i] * term.n_columns + second[i]);
    term.codes = static_cast<const u16*>(term.pair_codes.data());
  }
  if (!has_pairs()) features_ = std::move(terms_);
  for (const auto& bag : bags_) {
    bag->settle(features_);
    bag->start(made);
  }
  terms_ = std::move(made);
}

std::vector<double> AdditiveBoosting::weigh_terms(int n_jobs, InterruptWatch& watch) {
  for (const auto& bag : bags_)
    if (!bag->holds_out()) throw std::invalid_argument("terms are weighed by rows held out");
  const double rows = static_cast<double>(input_.data->n_rows) * static_cast<double>(n_terms());
  std::vector<std::vector<double>> gains(n_bags());
  parallel_for(n_bags(), choose_threads(n_jobs, 10.0 * rows * n_scores() * n_bags(), kThreadCost),
               [&](std::size_t bag) {
                 watch.poll();
                 gains[bag] = bags_[bag]->weigh_terms(terms_);
               });
  std::vector<double> joined;
  for (const std::vector<double>& own : gains) joined.insert(joined.end(), own.begin(), own.end());
  return joined;
}

std::size_t AdditiveBoosting::run(u32 n_cycles, int n_jobs, InterruptWatch& watch) {
  double slots = 0.0;
  for (const AdditiveTerm& term : terms_) slots += static_cast<double>(term.n_slots);
  const double rows = static_cast<double>(input_.data->n_rows) * static_cast<double>(terms_.size());
  const double work = 2.0 * (rows + slots) * n_scores() * n_cycles * n_bags();
  parallel_for(n_bags(), choose_threads(n_jobs, work, kThreadCost), [&](std::size_t bag) {
    for (u32 cycle = 0; cycle < n_cycles && !bags_[bag]->has_stopped(); ++cycle) {
      watch.poll();
      bags_[bag]->run_cycle(terms_);
    }
  });
  return static_cast<std::size_t>(std::count_if(
      bags_.begin(), bags_.end(), [](const auto& bag) { return !bag->has_stopped(); }));
}

bool AdditiveBoosting::has_pairs() const {
  return !terms_.empty() && terms_.front().n_grid_rows != 0;
}
std::size_t AdditiveBoosting::n_bags() const {
  return bags_.size();
}
u32 AdditiveBoosting::n_scores() const {
  return input_.loss->n_scores();
}
std::size_t AdditiveBoosting::n_terms() const {
  return terms_.size();
}
std::size_t AdditiveBoosting::n_slots(std::size_t term) const {
  return terms_.at(term).n_slots;
}
const std::vector<double>& AdditiveBoosting::table(std::size_t bag, std::size_t term) const {
  if (term >= terms_.size()) throw std::invalid_argument("there is no such term");
  return bags_.at(bag)->table(term);
}
const std::vector<double>& AdditiveBoosting::baseline(std::size_t bag) const {
  return bags_.at(bag)->baseline();
}
u32 AdditiveBoosting::best_cycle(std::size_t bag) const {
  return bags_.at(bag)->best_cycle();
}
const std::vector<double>& AdditiveBoosting::losses(std::size_t bag) const {
  return bags_.at(bag)->losses();
}

}  // namespace committee
