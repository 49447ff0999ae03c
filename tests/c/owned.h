// Descriptors of the C interface that free themselves, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>

#include "relayout/relayout_c.h"

namespace relayout::testing {

class Desc {
 public:
  Desc(const char* expression, std::initializer_list<int64_t> dims, relayout_dtype dtype) {
    EXPECT_EQ(relayout_desc_parse(expression, static_cast<int32_t>(dims.size()), std::data(dims), dtype, &desc_),
              RELAYOUT_OK)
        << relayout_error_message();
  }
  ~Desc() { relayout_desc_free(desc_); }
  Desc(const Desc&) = delete;
  Desc& operator=(const Desc&) = delete;
  operator const relayout_desc*() const { return desc_; }

 private:
  relayout_desc* desc_ = nullptr;
};

}  // namespace relayout::testing
