// A function that is called while its caller waits: nothing is copied, as std::function would.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

namespace committee {

template <class Signature>
class FunctionView;

// Made in a call, of what lives until the call returns.
template <class Result, class... Arguments>
class FunctionView<Result(Arguments...)> {
 public:
  template <class Function>
    requires(!std::is_same_v<std::remove_cvref_t<Function>, FunctionView>)
  FunctionView(Function&& function)
      : function_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* at, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Function>*>(at))(
              std::forward<Arguments>(arguments)...);
        }) {}
  Result operator()(Arguments... arguments) const {
    return call_(function_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* function_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace committee
