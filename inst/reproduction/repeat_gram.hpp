// Repeated releases by method "gram" on one panel, and their errors: the core's own mechanism and
// estimator, on rows whose features are computed once. Simulation only.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <dpsc/release/gram_release.hpp>
#include <dpsc/runtime.hpp>
#include <stdexcept>

namespace reproduction {

/// Rows in memory that keep the features of the last map: a round asks two questions about the same
/// map.
class remembered_rows : public dpsc::row_source {
 public:
  explicit remembered_rows(dpsc::table_view table) : table_(table) {}

  void pass(const dpsc::table_visitor& visit) const override { visit(table_); }
  bool ask(const dpsc::row_map& map, dpsc::radius_energy& into) const override {
    return add(map, into);
  }
  bool ask(const dpsc::row_map& map, dpsc::clipped_moments& into) const override {
    return add(map, into);
  }

 private:
  struct kept {
    Eigen::MatrixXd loadings, features;
    Eigen::VectorXd origin;

    bool is_of(const dpsc::row_map& map) const {
      return loadings.cols() == map.dimension() && origin == map.origin && loadings == map.loadings;
    }
  };

  template <typename Accumulator>
  bool add(const dpsc::row_map& map, Accumulator& into) const {
    into.add(features(map));
    return true;
  }

  const Eigen::MatrixXd& features(const dpsc::row_map& map) const {
    // The first round's map is the same in every release.
    if (first_.features.size() == 0) return work_out(map, first_);
    if (first_.is_of(map)) return first_.features;
    return last_.is_of(map) ? last_.features : work_out(map, last_);
  }

  const Eigen::MatrixXd& work_out(const dpsc::row_map& map, kept& into) const {
    into.loadings = map.loadings;
    into.origin = map.origin;
    into.features.resize(table_.rows, map.dimension());
    dpsc::block_reader reader(table_, map);
    for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
      const Eigen::MatrixXd& block = reader.features(b);
      into.features.middleRows(reader.first_row(b), block.rows()) = block;
    }
    return into.features;
  }

  dpsc::table_view table_;
  mutable kept first_, last_;
};

/// ||counterfactual - truth|| / sqrt(T1) of `runs` releases.
/// @param donors n x T, scaled. @param target its pre-period, scaled. @param truth T1.
template <typename Engine>
Eigen::VectorXd repeat_gram(const Eigen::MatrixXd& donors, const dpsc::panel_facts& facts,
                            const Eigen::VectorXd& truth, Eigen::Index runs, Engine& engine,
                            dpsc::runtime host = dpsc::runtime()) {
  const Eigen::Index T = facts.T0 + facts.T1;
  if (donors.cols() != T || truth.size() != facts.T1) throw std::invalid_argument("sizes differ");
  dpsc::gram_plan plan = dpsc::plan_gram(facts);
  // The budget of intervals is reserved; their draws come last and do not change a counterfactual.
  plan.calibration = dpsc::calibration_plan{};
  const dpsc::row_scale scale{Eigen::VectorXd::Zero(T), 1.0, Eigen::VectorXd::Ones(T)};
  dpsc::estimator_options options;
  options.half = scale.half;
  options.errors = false;
  const remembered_rows source({donors.data(), nullptr, donors.rows(), T});
  dpsc::drawn_noise<Engine> draws(engine);
  const auto tick = [&](double work) { host.tick(work); };
  Eigen::VectorXd errors(runs);
  for (Eigen::Index i = 0; i < runs; ++i) {
    const dpsc::gram_release release =
        dpsc::run_gram(plan, facts, scale, options, source, draws, tick);
    const dpsc::counterfactual_estimator estimator(release.statistics, options);
    errors[i] = (estimator.target(facts.y).path.tail(facts.T1) - truth).norm() /
                std::sqrt(static_cast<double>(facts.T1));
    host.tick(1e5);
  }
  return errors;
}

}  // namespace reproduction
