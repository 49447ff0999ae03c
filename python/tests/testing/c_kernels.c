// Kernels for the tests of relayout.testing: right for any strides, which are in bytes, and for any address.
//
// Each array is a pointer to its first element and strides; `at(x, i * xs[0] + j * xs[1])` is x[i][j]. All hold float,
// but for rows of int64_t. What is wrong in a test is what the caller says about an array.
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef const char* In;
typedef const int64_t* Strides;

static float at(In array, int64_t offset) {
  float value;
  memcpy(&value, array + offset, sizeof value);
  return value;
}

static int64_t index_at(In array, int64_t offset) {
  int64_t value;
  memcpy(&value, array + offset, sizeof value);
  return value;
}

static void put(char* array, int64_t offset, float value) { memcpy(array + offset, &value, sizeof value); }

// out[z][i][e] = the sum over j of (q[z][i] . k[z][j]) v[z][j][e]
void attention(In q, Strides qs, In k, Strides ks, In v, Strides vs, char* out, Strides os, int64_t batch, int64_t n,
               int64_t depth, int64_t m, int64_t width) {
  for (int64_t z = 0; z < batch; ++z)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t e = 0; e < width; ++e) {
        float sum = 0;
        for (int64_t j = 0; j < m; ++j) {
          float score = 0;
          for (int64_t d = 0; d < depth; ++d)
            score += at(q, z * qs[0] + i * qs[1] + d * qs[2]) * at(k, z * ks[0] + j * ks[1] + d * ks[2]);
          sum += score * at(v, z * vs[0] + j * vs[1] + e * vs[2]);
        }
        put(out, z * os[0] + i * os[1] + e * os[2], sum);
      }
}

// The mean is one of the first `many` elements of a row.
void layer_norm(In x, Strides xs, In w, Strides ws, In b, Strides bs, char* out, Strides os, int64_t rows,
                int64_t width, int64_t many) {
  for (int64_t i = 0; i < rows; ++i) {
    float mean = 0, variance = 0;
    for (int64_t j = 0; j < many; ++j) mean += at(x, i * xs[0] + j * xs[1]) / (float)many;
    for (int64_t j = 0; j < width; ++j) {
      float apart = at(x, i * xs[0] + j * xs[1]) - mean;
      variance += apart * apart / (float)width;
    }
    for (int64_t j = 0; j < width; ++j) {
      float unit = (at(x, i * xs[0] + j * xs[1]) - mean) / sqrtf(variance + 1.0f);
      put(out, i * os[0] + j * os[1], unit * at(w, j * ws[0]) + at(b, j * bs[0]));
    }
  }
}

void matmul(In a, Strides as, In b, Strides bs, char* out, Strides os, int64_t n, int64_t depth, int64_t m) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      float sum = 0;
      for (int64_t d = 0; d < depth; ++d) sum += at(a, i * as[0] + d * as[1]) * at(b, d * bs[0] + j * bs[1]);
      put(out, i * os[0] + j * os[1], sum);
    }
}

void copy(In x, Strides xs, char* out, Strides os, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j) put(out, i * os[0] + j * os[1], at(x, i * xs[0] + j * xs[1]));
}

void gather(In table, Strides ts, In rows, Strides rs, char* out, Strides os, int64_t count, int64_t width) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < width; ++j)
      put(out, i * os[0] + j * os[1], at(table, index_at(rows, i * rs[0]) * ts[0] + j * ts[1]));
}

void scatter_add(char* out, Strides os, In rows, Strides rs, In x, Strides xs, int64_t count, int64_t width) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < width; ++j) {
      int64_t to = index_at(rows, i * rs[0]) * os[0] + j * os[1];
      put(out, to, at(out, to) + at(x, i * xs[0] + j * xs[1]));
    }
}

void softmax(In x, Strides xs, char* out, Strides os, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; ++i) {
    float most = at(x, i * xs[0]), sum = 0;
    for (int64_t j = 0; j < width; ++j) most = fmaxf(most, at(x, i * xs[0] + j * xs[1]));
    for (int64_t j = 0; j < width; ++j) sum += expf(at(x, i * xs[0] + j * xs[1]) - most);
    for (int64_t j = 0; j < width; ++j)
      put(out, i * os[0] + j * os[1], expf(at(x, i * xs[0] + j * xs[1]) - most) / sum);
  }
}

// Scales each channel by w and subtracts the channel's mean.
void batch_norm(In x, Strides xs, In w, Strides ws, char* out, Strides os, int64_t n, int64_t channels, int64_t rows,
                int64_t width) {
  for (int64_t c = 0; c < channels; ++c) {
    float mean = 0;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t z = 0; z < n; ++z)
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < width; ++j) {
            float value = at(x, z * xs[0] + c * xs[1] + i * xs[2] + j * xs[3]);
            if (pass == 0)
              mean += value / (float)(n * rows * width);
            else
              put(out, z * os[0] + c * os[1] + i * os[2] + j * os[3], (value - mean) * at(w, c * ws[0]));
          }
  }
}

void bias_add(In x, Strides xs, In b, Strides bs, char* out, Strides os, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j)
      put(out, i * os[0] + j * os[1], at(x, i * xs[0] + j * xs[1]) + at(b, j * bs[0]));
}

void max_pool(In x, Strides xs, char* out, Strides os, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j)
      put(out, i * os[0] + j * os[1], fmaxf(at(x, i * xs[0] + j * xs[1]), at(x, i * xs[0] + (j + 1) * xs[1])));
}

void dot(In x, Strides xs, In y, Strides ys, char* out, Strides os, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += at(x, i * xs[0]) * at(y, i * ys[0]);
  (void)os;
  put(out, 0, sum);
}

void row_sums(In x, Strides xs, char* out, Strides os, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < width; ++j) sum += at(x, i * xs[0] + j * xs[1]);
    put(out, i * os[0], sum);
  }
}
