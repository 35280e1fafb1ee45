// Bodies of noise.hpp.
#pragma once

#include "noise.hpp"

namespace dpsc {

const char* law_name(law which) {
  switch (which) {
    case law::discrete_gaussian:
    case law::whole_gaussian:
      return "discrete_gaussian";
    case law::discrete_laplace:
      return "discrete_laplace";
    case law::gaussian:
      return "gaussian";
    case law::gamma_norm:
    case law::spherical:
      return "gamma_norm";
    case law::printed_norm:
      return "printed_norm";
    default:
      return "exponential";
  }
}

Eigen::VectorXd recorded_noise::add(const std::string& label, law kind,
                                    const Eigen::VectorXd& exact, const Eigen::VectorXd& scale) {
  const Eigen::VectorXd output = inner_.add(label, kind, exact, scale);
  if (kind == law::whole_gaussian)
    calls_.push_back({label, law::discrete_gaussian, scale.cwiseAbs2(), exact, {}, output, none});
  else
    calls_.push_back({label, kind, scale, exact, {}, output, none});
  return output;
}

Eigen::VectorXd recorded_noise::add_real(const std::string& label, law kind,
                                         const Eigen::VectorXd& exact, double scale) {
  calls_.push_back({label,
                    kind,
                    Eigen::VectorXd::Constant(1, scale),
                    exact,
                    {},
                    inner_.add_real(label, kind, exact, scale),
                    none});
  return calls_.back().output;
}

Eigen::VectorXd recorded_noise::perturb(const std::string& label, law kind, double scale,
                                        const perturbed_objective& objective) {
  const Eigen::VectorXd point = inner_.perturb(label, kind, scale, objective);
  calls_.push_back({label,
                    kind == law::spherical ? law::gamma_norm : kind,
                    Eigen::VectorXd::Constant(1, scale),
                    -objective.gradient(point),
                    {},
                    point,
                    objective.log_curvature(point)});
  return point;
}

std::size_t recorded_noise::choose(const std::string& label, const private_choice& choice) {
  const std::size_t k = inner_.choose(label, choice);
  calls_.push_back(as_call(label, choice, k));
  return k;
}

std::vector<std::size_t> recorded_noise::choose_jointly(const std::string& label,
                                                        const joint_choice& choice) {
  const std::vector<std::size_t> found = inner_.choose_jointly(label, choice);
  std::vector<double> losses;
  for (const std::vector<std::int64_t>& own : choice.losses)
    losses.insert(losses.end(), own.begin(), own.end());
  const std::vector<double> output(found.begin(), found.end());
  const auto as_vector = [](const std::vector<double>& x) {
    return Eigen::VectorXd(
        Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size())));
  };
  calls_.push_back({label, law::exponential, Eigen::VectorXd::Constant(1, choice.exponent()),
                    as_vector(losses), Eigen::VectorXd::Zero(as_vector(losses).size()),
                    as_vector(output), none});
  return found;
}

Eigen::VectorXd recorded_noise::draw(const std::string& label, const normal_law& from) {
  const Eigen::VectorXd point = inner_.draw(label, from);
  calls_.push_back({label,
                    law::gaussian,
                    Eigen::VectorXd::Ones(1),
                    -from.standard(point),
                    {},
                    point,
                    from.log_curvature()});
  return point;
}

std::uint64_t recorded_noise::sorting_bits() {
  bits_.push_back(inner_.sorting_bits());
  return bits_.back();
}

Eigen::VectorXd recorded_noise::show(const std::string& label, law kind,
                                     const Eigen::VectorXd& noisy, const Eigen::VectorXd& scale) {
  const Eigen::VectorXd shown = inner_.show(label, kind, noisy, scale);
  const bool whole = kind == law::whole_gaussian;
  calls_.push_back({label,
                    whole ? law::discrete_gaussian : kind,
                    whole ? Eigen::VectorXd(scale.cwiseAbs2()) : scale,
                    noisy,
                    {},
                    shown,
                    std::numeric_limits<double>::infinity()});
  return shown;
}

std::vector<Eigen::Index> recorded_noise::positions(Eigen::Index n, Eigen::Index m) {
  places_.push_back(inner_.positions(n, m));
  return places_.back();
}

noise_call recorded_noise::as_call(const std::string& label, const private_choice& choice,
                                   std::size_t k) {
  const auto size = static_cast<Eigen::Index>(choice.losses.size());
  noise_call call{label,
                  law::exponential,
                  Eigen::VectorXd::Constant(1, choice.exponent()),
                  Eigen::VectorXd(size),
                  Eigen::VectorXd::Zero(size),
                  Eigen::VectorXd::Constant(1, static_cast<double>(k)),
                  none};
  for (Eigen::Index i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    call.exact[i] = static_cast<double>(choice.losses[at]);
    if (!choice.offsets.empty())
      call.offset[i] = -std::ldexp(static_cast<double>(choice.offsets[at]), -choice.shift);
  }
  return call;
}

replayed_noise::replayed_noise(std::vector<Eigen::VectorXd> outputs,
                               std::vector<std::vector<Eigen::Index>> places,
                               std::vector<std::uint64_t> bits)
    : outputs_(std::move(outputs)), places_(std::move(places)), bits_(std::move(bits)) {}

Eigen::VectorXd replayed_noise::add(const std::string&, law, const Eigen::VectorXd& exact,
                                    const Eigen::VectorXd&) {
  return next(exact.size());
}

Eigen::VectorXd replayed_noise::add_real(const std::string&, law, const Eigen::VectorXd& exact,
                                         double) {
  return next(exact.size());
}

Eigen::VectorXd replayed_noise::perturb(const std::string&, law, double,
                                        const perturbed_objective& objective) {
  return next(objective.size());
}

std::size_t replayed_noise::choose(const std::string&, const private_choice& choice) {
  const Eigen::VectorXd& known = next(1);
  if (!(known[0] >= 0.0 && known[0] < choice.losses.size())) throw replay_diverged();
  return static_cast<std::size_t>(known[0]);
}

std::vector<std::size_t> replayed_noise::choose_jointly(const std::string&,
                                                        const joint_choice& choice) {
  const Eigen::VectorXd& known = next(static_cast<Eigen::Index>(choice.losses.size()));
  std::vector<std::size_t> out;
  for (std::size_t j = 0; j < choice.losses.size(); ++j) {
    const double own = known[static_cast<Eigen::Index>(j)];
    if (!(own >= 0.0 && own < static_cast<double>(choice.losses[j].size())))
      throw replay_diverged();
    out.push_back(static_cast<std::size_t>(own));
  }
  return out;
}

Eigen::VectorXd replayed_noise::draw(const std::string&, const normal_law& from) {
  return next(from.size());
}

Eigen::VectorXd replayed_noise::show(const std::string&, law, const Eigen::VectorXd& noisy,
                                     const Eigen::VectorXd&) {
  return next(noisy.size());
}

std::uint64_t replayed_noise::sorting_bits() {
  if (bit_ == bits_.size()) throw replay_diverged();
  return bits_[bit_++];
}

std::vector<Eigen::Index> replayed_noise::positions(Eigen::Index n, Eigen::Index m) {
  if (place_ == places_.size()) throw replay_diverged();
  const std::vector<Eigen::Index>& known = places_[place_++];
  if (known.size() != static_cast<std::size_t>(m)) throw replay_diverged();
  for (const Eigen::Index at : known)
    if (at < 0 || at >= n) throw replay_diverged();
  return known;
}

const Eigen::VectorXd& replayed_noise::next(Eigen::Index size) {
  if (position_ == outputs_.size() || outputs_[position_].size() != size) throw replay_diverged();
  return outputs_[position_++];
}

}  // namespace dpsc
