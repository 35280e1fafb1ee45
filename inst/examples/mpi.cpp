// A private release from rows on several ranks of MPI, and a check that it equals the release of
// one process:
//   mpicxx -std=c++17 -I<dpsc>/include -I<Eigen> mpi.cpp -o ranks && mpirun -n 2 ./ranks
// `make test-mpi` builds and runs it. The noise here is a known sequence, so that both releases can
// be compared; a private release uses dpsc::os_engine, on rank 0.
#define DPSC_ONE_UNIT  // the core's bodies, too: no library has them
#include <Eigen/Core>
#include <cmath>
#include <cstdio>
#include <dpsc/engine.hpp>
#include <dpsc/release/gram_release.hpp>
#include <dpsc/release/lm_release.hpp>
#include <random>

#include "mpi_source.hpp"

namespace {

constexpr Eigen::Index n = 3001, T0 = 8, T1 = 2, T = T0 + T1;

/// All people. A cluster would read a shard on each rank.
Eigen::MatrixXd made_up_people() {
  Eigen::MatrixXd people(n, T);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index t = 0; t < T; ++t)
      people(i, t) = 50.0 + 20.0 * std::sin(0.9 * static_cast<double>(i)) +
                     5.0 * std::cos(0.7 * static_cast<double>(t + i));
  return people;
}

dpsc::matrix_source source_of(const Eigen::MatrixXd& rows) {
  return dpsc::matrix_source({rows.data(), nullptr, rows.rows(), rows.cols()});
}

/// NOT PRIVATE: the same numbers every time.
struct known_engine {
  std::mt19937_64 words{7};
  std::uint64_t bits() { return words(); }
};

dpsc::panel_facts public_facts() {
  dpsc::panel_facts facts;
  facts.n = static_cast<double>(n);
  facts.T0 = T0;
  facts.T1 = T1;
  facts.epsilon = 2.0;
  facts.delta = 1e-6;
  facts.intervals = true;
  facts.targeted = true;
  facts.y = Eigen::VectorXd::LinSpaced(T0, 0.1, 0.0);
  return facts;
}

dpsc::gram_release release(const dpsc::row_source& source) {
  const dpsc::row_scale bounds{Eigen::VectorXd::Constant(T, 50.0), 50.0, Eigen::VectorXd::Ones(T)};
  const dpsc::panel_facts facts = public_facts();
  dpsc::estimator_options options;
  options.half = bounds.half;
  known_engine engine;
  dpsc::drawn_noise<known_engine> noise(engine);
  return dpsc::run_gram(dpsc::plan_gram(facts), facts, bounds, options, source, noise,
                        [](double) {});
}

/// A regression of the ninth column on two others and a product, over the same people.
dpsc::lm_facts regression() {
  dpsc::lm_facts facts;
  facts.n = static_cast<double>(n);
  facts.epsilon = 2.0;
  facts.delta = 1e-6;
  facts.scores = true;
  facts.design.variables = {{50.0, 50.0, false}, {50.0, 50.0, false}, {50.0, 50.0, false}};
  facts.design.columns = {{{0}, {1}}, {{1}, {1}}, {{0, 1}, {1, 1}}};
  facts.located = {"first", "second", "response"};
  return facts;
}

dpsc::lm_release regress(const dpsc::row_source& source) {
  const dpsc::lm_facts facts = regression();
  known_engine engine;
  dpsc::drawn_noise<known_engine> noise(engine);
  return dpsc::run_lm(dpsc::plan_lm(facts), facts, source, noise, [](double) {});
}

/// Rows of that regression: columns of people, one of them not known.
Eigen::MatrixXd regression_rows(const Eigen::MatrixXd& people) {
  Eigen::MatrixXd rows(people.rows(), 3);
  rows << people.col(0), people.col(3), people.col(8);
  if (rows.rows() > 5) rows(5, 1) = std::nan("");
  return rows;
}

int passed = 0, failed = 0;
void expect(bool ok, const char* what) {
  ++(ok ? passed : failed);
  if (!ok) std::printf("FAILED: %s\n", what);
}

template <typename Call>
bool refused(Call&& call) {
  try {
    call();
  } catch (const std::logic_error&) {
    return true;
  }
  return false;
}

/// Rank 0: the release of all ranks' rows equals the release of one process that has them all.
void compare(const dpsc::row_source& own, const Eigen::MatrixXd& people) {
  const dpsc::gram_release whole = release(source_of(people));
  {
    const dpsc_mpi::coordinator ranks(own, T, true, MPI_COMM_WORLD);
    const dpsc::gram_release parts = release(ranks);
    expect(parts.statistics.mean == whole.statistics.mean, "the same means");
    expect(parts.statistics.covariance == whole.statistics.covariance, "the same moments");
    expect(whole.statistics.covariance.norm() > 0.0, "there are moments");
    expect(parts.target.mean.size() == T1 && parts.target.mean == whole.target.mean,
           "the same sum for the target");
    expect(parts.intervals.made && whole.intervals.made, "intervals are calibrated");
    expect(parts.intervals.second == whole.intervals.second &&
               parts.intervals.band == whole.intervals.band,
           "the same intervals");
    expect(refused([&] { ranks.pass([](const dpsc::table_view&) {}); }), "rows stay");
  }
  {
    const dpsc_mpi::coordinator ranks(own, T, false, MPI_COMM_WORLD);
    expect(refused([&] { release(ranks); }), "no rows travel that were not allowed to");
  }
}

bool same(const dpsc::lm_release& a, const dpsc::lm_release& b) {
  bool same = a.location.median == b.location.median && a.location.scale == b.location.scale &&
              a.rounds.size() == b.rounds.size() && !a.rounds.empty() && a.scores && b.scores &&
              a.scores->meat == b.scores->meat;
  for (std::size_t k = 0; same && k < a.rounds.size(); ++k)
    same = a.rounds[k].radius == b.rounds[k].radius && a.rounds[k].clip == b.rounds[k].clip &&
           a.rounds[k].mean == b.rounds[k].mean &&
           a.rounds[k].covariance == b.rounds[k].covariance &&
           a.rounds[k].cross == b.rounds[k].cross;
  return same;
}

/// Rank 0: the same of a regression.
void compare_regression(const dpsc::row_source& own, const Eigen::MatrixXd& rows) {
  const dpsc::lm_release whole = regress(source_of(rows));
  const dpsc_mpi::coordinator ranks(own, 3, false, MPI_COMM_WORLD);
  expect(same(regress(ranks), whole), "the same regression");
  expect(same(regress(ranks), whole), "and again");
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  const MPI_Comm comm = MPI_COMM_WORLD;
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  const int rank = dpsc_mpi::rank_of(comm);
  const Eigen::MatrixXd people = made_up_people();
  const Eigen::Index first = n * rank / ranks, last = n * (rank + 1) / ranks;
  const Eigen::MatrixXd shard = people.middleRows(first, last - first);
  const dpsc::matrix_source own = source_of(shard);
  if (rank == 0) {
    compare(own, people);
    expect(refused([&] { dpsc_mpi::serve(own, comm); }), "rank 0 does not serve");
  } else {
    // This rank cannot ask, and so has no sums to which it could add noise.
    expect(refused([&] { dpsc_mpi::coordinator second(own, T, true, comm); }),
           "a second rank makes no release");
    dpsc_mpi::serve(own, comm);
    dpsc_mpi::serve(own, comm);
  }
  // A regression's people, whole and as this rank's shard.
  const Eigen::MatrixXd rows = regression_rows(people);
  const Eigen::MatrixXd some = rows.middleRows(first, last - first);
  const dpsc::matrix_source mine = source_of(some);
  const dpsc::lm_facts facts = regression();
  if (rank == 0) {
    compare_regression(mine, rows);
  } else {
    expect(refused([&] { dpsc_mpi::coordinator second(mine, 3, false, comm); }),
           "a second rank makes no regression");
    dpsc_mpi::serve(mine, comm, &facts.design);
  }
  // Only rank 0 has the sums.
  expect(dpsc_mpi::reduce({1.0, 2.0}, comm).size() == (rank == 0 ? 2u : 0u), "who has sums");
  int results[2] = {passed, failed}, all[2] = {0, 0};
  MPI_Reduce(results, all, 2, MPI_INT, MPI_SUM, 0, comm);
  if (rank == 0) std::printf("mpi: %d ranks, %d passed, %d failed\n", ranks, all[0], all[1]);
  MPI_Finalize();
  return failed != 0;
}
