// In builds without Highway, products are those in plain C++.
#include "relayout/execute/own/product/product.h"

namespace relayout::execute {

ProductFunction product_function() { return plain_product; }
ProductFunction transposed_product_function() { return plain_transposed_product; }

}  // namespace relayout::execute
