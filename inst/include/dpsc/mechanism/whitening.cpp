// Bodies of whitening.hpp.
#pragma once

#include "whitening.hpp"

#include "../linalg.hpp"

namespace dpsc {

std::vector<double> limit_grid(double low, double high, double octaves) {
  std::vector<double> out;
  for (double x = high; x > low * 0.999; x *= std::pow(2.0, -octaves)) out.insert(out.begin(), x);
  return out;
}

std::size_t choose_limit(const std::vector<std::int64_t>& first, int bits, double allowed,
                         double price, double exponent, const std::string& label, noise& draws) {
  const std::int64_t one = std::int64_t{1} << bits;
  const auto inside = static_cast<std::int64_t>(std::floor(allowed)) * one;
  const auto step = static_cast<std::int64_t>(std::floor(price)) * one;
  private_choice choice;
  choice.losses.resize(first.size() - 1);
  std::int64_t outside = 0;
  for (std::size_t k = choice.losses.size(); k-- > 0;) {
    outside += first[k + 1];
    choice.losses[k] =
        std::max<std::int64_t>(0, outside - inside) + step * static_cast<std::int64_t>(k);
  }
  choice.parts = bits;
  choice.shift = 20 + bits;
  choice.units = exponent_units(exponent, 20);
  return draws.choose(label, choice);
}

whitening_plan plan_whitening(const std::string& at, double n, Eigen::Index p,
                              const std::vector<double>& radii, const total_budget& budget,
                              double radius_share, double moments_share) {
  whitening_plan out;
  out.exponent = budget.exponent(radius_share);
  out.radii = radii;
  out.radius_price = std::min(3.0 / out.exponent, 0.01 * n);
  out.records.push_back(budget.choice_record("radius of regressors" + at, out.exponent));
  plan_outer(out, "moments of regressors" + at, n, p, 0.0, budget, moments_share);
  return out;
}

whitening_round release_whitening(const row_source& source, const lm_design& design,
                                  const lm_location& location, const lm_frame& frame,
                                  const whitening_plan& plan, double n, noise& draws,
                                  const ticker& tick) {
  const Eigen::Index p = design.p();
  lm_reader reader(design);
  lm_columns columns(design, location);
  lm_features features(columns, frame);
  const double unit = features.unit();
  const auto steps = [unit](double x) { return std::max(1.0, std::floor(x / unit)); };
  const auto work = static_cast<double>((p + 1) * (p + 8));

  std::vector<double> limits;
  for (double r : plan.radii) limits.push_back(std::pow(steps(r), 2.0));
  std::vector<std::int64_t> first(limits.size() + 1, 0);  // PRIVATE; a missing row counts as inside
  reader.pass(source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    const Eigen::ArrayXd norms =
        squared_row_norms(features.features(columns.columns(grid)).leftCols(p));
    count_people({grid, present, reader.people()}, first, design, [&](Eigen::Index i) {
      return std::lower_bound(limits.begin(), limits.end(), norms[i]) - limits.begin();
    });
    tick(static_cast<double>(grid.rows()) * work);
  });
  whitening_round out;
  out.radius =
      plan.radii[choose_limit(first, bits_of_shares(design), rows_beyond * n, plan.radius_price,
                              plan.exponent, plan.records[0].label, draws)];

  lm_outer sums(plan, p, steps(out.radius), 1.0);
  mean_outer means(plan.bound(), p + 2);
  Eigen::MatrixXd exact = Eigen::MatrixXd::Zero(p + 2, p + 2);
  reader.pass(source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    const Eigen::MatrixXd& z = features.features(columns.columns(grid));
    if (design.person)
      means.add(sums.rows(z, present), {grid, present, reader.people()}, exact);
    else
      sums.add(z, present);
    tick(static_cast<double>(grid.rows()) * work);
  });
  if (design.person)
    exact = Eigen::MatrixXd(exact.selfadjointView<Eigen::Lower>());
  else
    exact = sums.gram();
  const Eigen::Index d = p + 1;  // without the residual, which is zero
  const auto place = [p](Eigen::Index i) { return i < p ? i : p + 1; };
  Eigen::MatrixXd kept(d, d);
  for (Eigen::Index j = 0; j < d; ++j)
    for (Eigen::Index i = 0; i < d; ++i) kept(i, j) = exact(place(i), place(j));
  const Eigen::MatrixXd noisy =
      add_symmetric(kept, plan.records[1].label, plan.kind, plan.noise, draws);
  const double K = plan.constant, zoom = sums.zoom() / unit;
  out.weight = noisy(p, p) / (K * K * n);
  const double total = std::max(out.weight, least_weight) * n;
  out.mean = noisy.col(p).head(p) / (zoom * K * total);
  out.covariance =
      noisy.topLeftCorner(p, p) / (zoom * zoom * total) - out.mean * out.mean.transpose();
  out.sd = plan.sigma / (zoom * zoom * total);
  return out;
}

lm_frame whiten(const lm_frame& frame, const whitening_round& round) {
  const Eigen::Index p = frame.centre.size();
  const Eigen::MatrixXd& C = round.covariance;
  const double least = std::max({round.sd, C.trace() * 1e-4, 1e-12});
  // Variances that the noise does not separate are set equal.
  const Eigen::ArrayXd own = C.diagonal();
  const double middle = own.mean(), spread = (own - middle).square().mean();
  const double keep =
      spread > 0.0 ? std::sqrt(std::max(0.0, 1.0 - round.sd * round.sd / spread)) : 0.0;
  const Eigen::ArrayXd v = (middle + keep * (own - middle)).max(least);
  Eigen::MatrixXd Q(p, p);
  double edge = 0.0;
  for (Eigen::Index i = 0; i < p; ++i) {
    double row = 0.0;
    for (Eigen::Index j = 0; j < p; ++j) {
      Q(i, j) = i == j ? 1.0 : C(i, j) / std::sqrt(v[i] * v[j]);
      row += round.sd * round.sd / 2.0 / (v[i] * v[j]);
    }
    edge = std::max(edge, 2.0 * std::sqrt(row));
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(Q);
  const double floor = std::min(1.0, std::max(0.003, edge / 3.0));
  const Eigen::ArrayXd values = spectrum.eigenvalues().array().unaryExpr([&](double l) {
    const double far = std::sqrt(std::max((l - 1.0) * (l - 1.0) - edge * edge, 0.0));
    return std::max(floor, l < 1.0 ? 1.0 - far : 1.0 + far);
  });
  lm_frame out = frame;
  out.centre = frame.centre + lu_solve_transposed(frame.whiten, round.mean);
  out.whiten = frame.whiten * v.sqrt().inverse().matrix().asDiagonal() * spectrum.eigenvectors() *
               values.sqrt().inverse().matrix().asDiagonal();
  return out;
}

}  // namespace dpsc
