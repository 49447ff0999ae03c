// Texts of placements: each system's own rule by plain loops, texts as the systems print them, and the way back.
#include "relayout/interop/placements/placement_text.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::each_index;

class DrawnTexts {
 public:
  explicit DrawnTexts(uint32_t seed) : rng_(seed) {}
  int64_t from_to(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }

 private:
  std::mt19937 rng_;
};

std::string parsed_error(std::string_view text, const Dims& dims = {100, 30}) {
  try {
    PlacementText::parse(text).bind(dims);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(PlacementTexts, OneOfEachSystem) {
  struct Case {
    std::string_view text;
    Dims index, local;
    int64_t place;
    std::string_view name;
    int64_t offset;
  };
  const Case cases[] = {
      {"jax:P('x',None) mesh(x=4,y=2)", {77, 3}, {2, 3}, 6, "rank 6 (x=3, y=0)", 63},
      {"jax:P(('y','x')) mesh(x=4,y=2)", {77, 3}, {12, 3}, 3, "rank 3 (x=1, y=1)", 363},
      {"dtensor:[Shard(0),Replicate()] mesh(4,2)", {77, 3}, {2, 3}, 6, "rank 6", 63},
      {"dtensor:[Shard(0),Shard(1)] mesh(dp=4,tp=2):(1,4)", {77, 20}, {2, 5}, 7, "rank 7 (dp=3, tp=1)", 35},
      {"scalapack:m=100,n=30,mb=8,nb=4,p=2,q=3", {77, 13}, {37, 5}, 3, "rank 3 (p=1, q=0)", 277},
      {"zarr:chunks=(8,7)", {77, 20}, {5, 6}, 47, "chunk c/9/2", 41},
      {"zarr:chunks=(8,7),order=F", {77, 20}, {5, 6}, 47, "chunk c/9/2", 53},
      {"zarr:chunks=(8,40)", {9, 20}, {1, 20}, 1, "chunk c/1/0", 60},  // a chunk may be larger than the array
      {"hdf5:chunks=(8,7)", {99, 29}, {3, 1}, 64, "chunk (12,4)", 22},
      {"places:(8)(4,@1)|*", {77, 3}, {21, 3}, 1, "place 1", 633},
      {"places:(8)(4,@1)+3|*;files=part-{}.bin", {77, 3}, {21, 3}, 0, "part-0.bin", 633},
  };
  for (const Case& c : cases) {
    ASSERT_TRUE(PlacementText::is(c.text)) << c.text;
    const PlacementText text = PlacementText::parse(c.text);
    const Placement p = text.bind({100, 30});
    EXPECT_EQ(p.place(c.index), c.place) << c.text;
    EXPECT_EQ(p.local_index(c.index), c.local) << c.text;
    EXPECT_EQ(text.name_of(p, c.place), c.name) << c.text;
    EXPECT_EQ(text.layout_of(p, c.place).offset(c.local), c.offset) << c.text;
  }
  for (const std::string_view layout : {"zarr:chunks(8,7)", "zarr:chunks(8,7);align=4", "nchw", "cute:4:1", "jaxx:P()"})
    EXPECT_FALSE(PlacementText::is(layout)) << layout;
}

TEST(PlacementTexts, AsTheSystemsPrintThem) {
  const auto same = [](std::string_view printed, std::string_view text) {
    EXPECT_EQ(PlacementText::parse(printed).bind({8, 12}), PlacementText::parse(text).bind({8, 12})) << printed;
  };
  same("jax:NamedSharding(mesh=Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto)), spec=P('x', None), memory_kind=device)",
       "jax:P('x',None) mesh(x=4,y=2)");
  same("jax:NamedSharding(mesh=Mesh('x': 4, 'y': 2), spec=PartitionSpec(('y', 'x'),))",
       "jax:P(('y','x')) mesh(x=4,y=2)");
  same("dtensor:placements=(Shard(dim=0), Replicate()), mesh(4, 2)", "dtensor:[S(0),R] mesh(4,2)");
  same(
      "dtensor:DTensor(local_tensor=tensor([[1., 2.],\n [3., 4.]]), device_mesh=DeviceMesh((dp=4, tp=2), 'cuda', "
      "stride=(1, 4)), placements=(Shard(dim=0), Replicate()))",
      "dtensor:[Shard(0),Replicate()] mesh(4,2):(1,4)");
  same("dtensor:[Shard(0),Shard(1)] DeviceMesh('cpu', [[0, 2, 4], [1, 3, 5]])",
       "dtensor:[Shard(0),Shard(1)] mesh(2,3):(1,2)");
  same("dtensor:(Shard(1),), DeviceMesh((6,), device: 'cpu', stride: (1,))", "places:*|(6,@1)");
  same("scalapack:desc(1,0,8,12,3,2,1,0,5),p=2,q=3", "scalapack:m=8,n=12,mb=3,nb=2,p=2,q=3,rsrc=1");
  EXPECT_EQ(PlacementText::parse("scalapack:m=8,n=12,mb=3,nb=2,p=2,q=3,lld=7")
                .layout_of(PlacementText::parse("scalapack:m=8,n=12,mb=3,nb=2,p=2,q=3").bind({8, 12}), 0)
                .offset({1, 2}),
            15);
}

/// What torch.chunk gives part `part` of `parts`, of indices [from, to).
std::pair<int64_t, int64_t> chunk_of(std::pair<int64_t, int64_t> range, int64_t part, int64_t parts) {
  int64_t size = 0;
  while (size * parts < range.second - range.first) ++size;
  const auto end = [&](int64_t k) { return std::min(range.first + k * size, range.second); };
  return {end(part), end(part + 1)};
}

// Each rank's range by cutting, one dim of the mesh after the other, as DTensor does.
TEST(PlacementTexts, DTensorsCuts) {
  DrawnTexts draw(1);
  int checked = 0, strided = 0;
  for (int round = 0; round < 400; ++round) {
    const std::vector<int64_t> mesh{draw.from_to(1, 3), draw.from_to(1, 3), draw.from_to(1, 3)};
    const Dims dims{draw.from_to(1, 9), draw.from_to(1, 9)};
    std::vector<int64_t> cut;
    std::string text = "dtensor:[";
    const bool reversed = draw.from_to(0, 2) == 0;  // the middle dim of the mesh cuts before the first, both dim 0
    for (std::size_t k = 0; k < 3; ++k) {
      cut.push_back(reversed && k < 2 ? 0 : draw.from_to(-1, 1));
      if (reversed && k == 2) cut[2] = draw.from_to(0, 1) == 0 ? -1 : 1;
      const bool later = reversed && k == 0 && mesh[1] > 1;
      text += (k == 0 ? "" : ",");
      text += later        ? "_StridedShard(dim=0, sf=" + std::to_string(mesh[1]) + ")"
              : cut[k] < 0 ? "Replicate()"
                           : "Shard(" + std::to_string(cut[k]) + ")";
    }
    text += "] mesh(" + std::to_string(mesh[0]) + "," + std::to_string(mesh[1]) + "," + std::to_string(mesh[2]) + ")";
    std::optional<Placement> p;
    try {
      p = PlacementText::parse(text).bind(dims);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << text;
      continue;
    }
    ++checked;
    strided += reversed ? 1 : 0;
    for (int64_t rank = 0; rank < p->places(); ++rank) {
      const int64_t at[3] = {rank / mesh[2] / mesh[1], rank / mesh[2] % mesh[1], rank % mesh[2]};
      std::pair<int64_t, int64_t> range[2] = {{0, dims[0]}, {0, dims[1]}};
      for (const std::size_t k : reversed ? std::vector<std::size_t>{1, 0, 2} : std::vector<std::size_t>{0, 1, 2}) {
        if (cut[k] >= 0) range[cut[k]] = chunk_of(range[cut[k]], at[k], mesh[k]);
      }
      const Dims local = p->local_dims(rank);
      for (int d = 0; d < 2; ++d) {
        ASSERT_EQ(local[d], range[d].second - range[d].first) << text << " of " << join(dims) << ", rank " << rank;
        if (local[d] == 0) continue;
        EXPECT_EQ(p->global_index(rank, {0, 0})[d], range[d].first)
            << text << " of " << join(dims) << ", rank " << rank;
      }
    }
  }
  EXPECT_GT(checked, 200);
  EXPECT_GT(strided, 30);
}

// ScaLAPACK's own formulas of a global index, INDXG2P and INDXG2L, counted from 0.
TEST(PlacementTexts, ScalapacksProcesses) {
  for (const bool by_columns : {false, true}) {
    const std::string text =
        std::string("scalapack:m=11,n=9,mb=2,nb=3,p=3,q=2,rsrc=1,csrc=1") + (by_columns ? ",order=c" : "");
    const Placement p = PlacementText::parse(text).bind({11, 9});
    each_index(Dims{11, 9}, [&](const Dims& i) {
      const int64_t row = (1 + i[0] / 2) % 3, column = (1 + i[1] / 3) % 2;
      EXPECT_EQ(p.place(i), by_columns ? column * 3 + row : row * 2 + column) << join(i);
      EXPECT_EQ(p.local_index(i), (Dims{2 * (i[0] / (2 * 3)) + i[0] % 2, 3 * (i[1] / (3 * 2)) + i[1] % 3})) << join(i);
    });
  }
}

// Random placements: where a system has words, they mean the same placement; where it has none, it says why.
TEST(PlacementTexts, ThereAndBack) {
  DrawnTexts draw(2);
  std::map<std::string, int> said;
  for (int round = 0; round < 2000; ++round) {
    const Dims dims{draw.from_to(0, 13), draw.from_to(1, 13)};
    const bool plain = draw.from_to(0, 1) == 0;
    std::vector<DimPlaces> of_dims(2);
    std::vector<MeshAxis> mesh;
    int64_t places = 1;
    for (int64_t left = draw.from_to(0, 4); left > 0; --left) {
      const int64_t extent = draw.from_to(2, 3), d = draw.from_to(0, plain ? 2 : 1);
      mesh.insert(mesh.begin(), {draw.from_to(0, 2) == 0 ? "" : "axis" + std::to_string(left), extent, places});
      if (d < 2) {
        Digits& digits = of_dims[static_cast<std::size_t>(d)].places;
        digits.push_back({extent, places});
        if (draw.from_to(0, 3) == 0) std::swap(digits[0], digits[digits.size() - 1]);
      }
      places *= extent;
    }
    for (int d = 0; d < 2; ++d) {
      DimPlaces& dim = of_dims[static_cast<std::size_t>(d)];
      const int64_t whole = std::max<int64_t>(1, ceil_div(dims[d], dim.count()));
      dim.block = plain ? whole : draw.from_to(1, whole);
      dim.first = plain ? 0 : draw.from_to(0, dim.count() - 1);
    }
    const Placement p = Placement::of(dims, places, of_dims);
    for (const std::string_view system : placement_systems()) {
      const Spelling spelling =
          placement_spelling(system, p, draw.from_to(0, 1) == 0 ? std::span<const MeshAxis>() : mesh);
      if (spelling.text.empty()) {
        EXPECT_NE(spelling.refusal, "") << system;
        continue;
      }
      ++said[std::string(system)];
      EXPECT_EQ(PlacementText::parse(spelling.text).bind(dims), p) << spelling.text << " of " << join(dims);
    }
  }
  EXPECT_EQ(said["places"], 2000);
  EXPECT_GT(said["jax"], 800);
  EXPECT_GT(said["dtensor"], 500);
  EXPECT_GT(said["scalapack"], 400);
  EXPECT_GT(said["zarr"], 100);
}

TEST(PlacementTexts, AMeshKeepsItsAxes) {
  const PlacementText text = PlacementText::parse("jax:P(('dp','tp')) mesh(dp=4,tp=2,pp=2,cp=3)");
  const Placement p = text.bind({16, 4});
  EXPECT_EQ(placement_spelling("dtensor", p, text.mesh).text,
            "dtensor:[Shard(0),Shard(0),Replicate(),Replicate()] mesh(dp=4,tp=2,pp=2,cp=3)");
  EXPECT_EQ(placement_spelling("dtensor", p).text, "dtensor:[Shard(0),Replicate()] mesh(8,6)");
  EXPECT_EQ(placement_spelling("jax", p, text.mesh).text, "jax:P(('dp','tp'),None) mesh(dp=4,tp=2,pp=2,cp=3)");
}

TEST(PlacementTexts, ErrorsSayWhereAndWhy) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"jax:P('z') mesh(x=4)", "the mesh has no axis z"},
      {"jax:P('x','x') mesh(x=4)", "two dims go over the axis x"},
      {"jax:P('x')", "expected the mesh"},
      {"jax:P('x') mesh(x=0)", "the extent of an axis is 1 or more"},
      {"jax:P('x',None,None) mesh(x=4)", "it has 3 dims, and the tensor 2"},
      {"jax:P('x', unreduced={'y'}) mesh(x=4,y=2)", "a partial sum is no placement"},
      {"dtensor:[Shard(0)] mesh(4,2)", "there are 1 placements, and the mesh has 2 dims"},
      {"dtensor:[Partial(sum)] mesh(4)", "a partial sum is no placement of elements"},
      {"dtensor:[Shard(0),Shard(0)] mesh(3,2)",
       "dim 0 of 100 goes over several dims of the mesh and does not divide by their 6 parts"},
      {"dtensor:[_StridedShard(0,sf=3),Shard(0)] mesh(2,2)", "cut dim 0 into 2 parts"},
      {"dtensor:DTensor(x])", "expected placements and a mesh"},
      {"dtensor:[Shard(0)] DeviceMesh('cpu', [0, 1, 3])", "do not follow each other at equal steps"},
      {"dtensor:[Shard(0),Shard(1)] mesh(4,2):(2,2)", "two coordinates of the mesh are one rank"},
      {"dtensor:[Shard(0),Replicate()] mesh(4,2):(1,1)", "two coordinates of the mesh are one rank"},
      {"dtensor:[Shard(0),Replicate()] mesh(4,2):(1,8)", "a rank has no coordinate"},
      {"scalapack:m=100,n=30,mb=8,nb=4", "the grid is needed"},
      {"scalapack:m=9,n=30,mb=8,nb=4,p=1,q=1", "its dims are 9,30"},
      {"scalapack:m=100,n=30,mb=8,nb=4,p=2,q=2,rsrc=2", "begins at coordinate 2 of 2"},
      {"zarr:chunks=(8)", "it has 1 dims, and the tensor 2"},
      {"zarr:chunks=(8,0)", "the extent of a chunk is 1 or more"},
      {"places:(8)(4,@1)", "it has 1 dims, and the tensor 2"},
      {"places:(4,@9223372036854775807)|*", "does not fit 64 bits"},
      {"places:(4611686018427387904)(4,@1)|*", "overflow 63 bits"},
      {"places:(4294967296,@1)(4294967296,@1)|*", "the places 4294967296,4294967296 overflows 63 bits"},
      {"places:(4,@1)|(4,@1)", "does not follow"},
      {"cuda:0", "begins with none of"},
  };
  for (const auto& [text, why] : cases)
    EXPECT_NE(parsed_error(text).find(why), std::string::npos) << text << ": " << parsed_error(text);
}

}  // namespace
}  // namespace relayout
