// The whole library in one include. Optional parts say at run time what is missing.
#pragma once

#include "relayout/core/dtype.h"
#include "relayout/core/error.h"
#include "relayout/core/extents.h"
#include "relayout/core/float.h"
#include "relayout/core/format.h"
#include "relayout/core/layout.h"
#include "relayout/core/print.h"
#include "relayout/core/view.h"
#include "relayout/cpu/in_place.h"
#include "relayout/cpu/reorder.h"
#include "relayout/interop/tensor_file.h"
#include "relayout/reorder/in_place.h"
#include "relayout/reorder/plan.h"
#include "relayout/reorder/reference.h"
