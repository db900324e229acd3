#include "boosting/tree_steps.hpp"

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

namespace committee {

namespace {

// Ends a tree that is waiting when another one, or a call, has failed.
struct StepAbandoned {};

BlockCommand choose_tree(std::size_t tree) {
  return {"choose_tree", {static_cast<i64>(tree)}, {}};
}

}  // namespace

class TreeSteps::Tree final : public BlockChannel {
 public:
  void post(BlockCommand command, bool) override { posted.push_back(std::move(command)); }
  BlockValues ask(BlockCommand command, BlockReduction how, bool) override {
    asked = std::move(command);
    reduction = how;
    std::unique_lock lock(mutex_);
    pass_turn(lock, false);
    if (abandoned_) throw StepAbandoned{};
    return std::move(answer);
  }

  void start(std::function<void()> grow) {
    done_ = abandoned_ = running_ = false;
    posted.clear();
    thread_ = std::thread([this, grow = std::move(grow)] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return running_; });
      if (!abandoned_) grow_unlocked(lock, grow);
      done_ = true;
      running_ = false;
      changed_.notify_all();
    });
  }
  // Lets the tree grow until it asks for something or ends.
  void advance() {
    asked.reset();
    std::unique_lock lock(mutex_);
    pass_turn(lock, true);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  // Ends the thread, wherever the tree is.
  void stop() noexcept {
    if (!thread_.joinable()) return;
    if (!done_) {
      std::unique_lock lock(mutex_);
      abandoned_ = true;
      pass_turn(lock, true);
      error_ = nullptr;
    }
    thread_.join();
  }
  bool done() const { return done_; }

  std::vector<BlockCommand> posted;
  std::optional<BlockCommand> asked;
  BlockReduction reduction = BlockReduction::sum;
  BlockValues answer;

 private:
  void pass_turn(std::unique_lock<std::mutex>& lock, bool to_tree) {
    running_ = to_tree;
    changed_.notify_all();
    changed_.wait(lock, [&] { return running_ != to_tree; });
  }
  void grow_unlocked(std::unique_lock<std::mutex>& lock, const std::function<void()>& grow) {
    lock.unlock();
    std::exception_ptr error;
    try {
      grow();
    } catch (const StepAbandoned&) {
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
  }

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool running_ = false;  // the tree's thread; otherwise the caller's
  bool done_ = false, abandoned_ = false;
  std::exception_ptr error_;
};

TreeSteps::TreeSteps(BlockLink& link, std::size_t n_trees) : link_(link) {
  for (std::size_t t = 0; t < n_trees; ++t) trees_.push_back(std::make_unique<Tree>());
}

TreeSteps::~TreeSteps() = default;

BlockChannel& TreeSteps::channel(std::size_t tree) {
  return *trees_[tree];
}

void TreeSteps::run(std::size_t n, FunctionView<void(std::size_t)> grow) {
  struct Stop {
    ~Stop() {
      for (const auto& tree : *trees) tree->stop();
    }
    const std::vector<std::unique_ptr<Tree>>* trees;
  };
  const Stop stop{&trees_};
  for (std::size_t t = 0; t < n; ++t) trees_[t]->start([&grow, t] { grow(t); });
  for (bool any = true; any;) {
    any = false;
    for (std::size_t t = 0; t < n; ++t) {
      if (trees_[t]->done()) continue;
      trees_[t]->advance();
      any = any || !trees_[t]->done();
    }
    if (any) send(n);
  }
  for (std::size_t t = 0; t < n; ++t) {
    link_.post(choose_tree(t));
    for (BlockCommand& command : trees_[t]->posted) link_.post(std::move(command));
  }
  link_.post(choose_tree(0));  // which is the only one that other commands know
}

// What the trees that wait have asked for, and what they posted before, in one call.
void TreeSteps::send(std::size_t n) {
  std::vector<BlockCommand> commands;
  std::vector<std::pair<Tree*, std::size_t>> waiting;  // and how many values each gets
  std::size_t n_values = 0;
  for (std::size_t t = 0; t < n; ++t) {
    Tree& tree = *trees_[t];
    if (tree.done()) continue;
    commands.push_back(choose_tree(t));
    for (BlockCommand& command : tree.posted) commands.push_back(std::move(command));
    tree.posted.clear();
    waiting.emplace_back(&tree, tree.asked->n_answers);
    n_values += tree.asked->n_answers;
    commands.push_back(std::move(*tree.asked));
    if (tree.reduction != BlockReduction::sum)
      throw std::invalid_argument("trees that grow together ask for sums");
  }
  BlockValues answers = link_.ask_all(std::move(commands), BlockReduction::sum);
  if (answers.size() != n_values)
    throw std::invalid_argument("blocks gave another number of answers than trees asked for");
  auto next = answers.begin();
  for (const auto& [tree, n_own] : waiting) {
    tree->answer.assign(std::make_move_iterator(next),
                        std::make_move_iterator(next + static_cast<std::ptrdiff_t>(n_own)));
    next += static_cast<std::ptrdiff_t>(n_own);
  }
}

}  // namespace committee
