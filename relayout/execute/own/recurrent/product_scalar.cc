// In builds without Highway, products are those in plain C++.
#include "relayout/execute/own/recurrent/product.h"

namespace relayout::execute {

ProductFunction product_function() { return plain_product; }

}  // namespace relayout::execute
