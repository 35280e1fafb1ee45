// Streams: from R's lists and tables to the core and back. The state lives behind an external
// pointer; R sees only released values.
#include <RcppEigen.h>

#include <csignal>
#include <dpsc/estimate/stream_slopes.hpp>
#include <dpsc/stream/files.hpp>
#include <dpsc/stream/iterates.hpp>
#include <dpsc/stream/learner.hpp>
#include <memory>

#include "r_engine.h"
#include "r_noise.h"
#include "r_probe.h"

namespace {

struct live_stream {
  std::unique_ptr<dpsc::learner> core;  // none once the state has been moved to a file
  std::unique_ptr<dpsc::perturbed_iterates> iterates;
  std::vector<double> trace;  // of the iterates
};
using stream_pointer = Rcpp::XPtr<live_stream>;

live_stream& alive(SEXP pointer) {
  if (TYPEOF(pointer) != EXTPTRSXP || !R_ExternalPtrAddr(pointer))
    throw dpsc::state_error("the state of this stream is not here");
  live_stream& stream = *stream_pointer(pointer);
  if (!stream.core && !stream.iterates)
    throw dpsc::state_error("the state of this stream is not here");
  return stream;
}

template <typename T>
T field(const Rcpp::List& list, const char* name) {
  return Rcpp::as<T>(list[name]);
}

dpsc::stream_facts as_facts(const Rcpp::List& list) {
  dpsc::stream_facts out;
  out.noise = field<std::string>(list, "noise");
  out.shape = field<std::string>(list, "shape");
  out.size = static_cast<Eigen::Index>(field<double>(list, "size"));
  out.horizon = static_cast<std::int64_t>(field<double>(list, "horizon"));
  out.times = static_cast<std::int64_t>(field<double>(list, "times"));
  out.apart = static_cast<std::int64_t>(field<double>(list, "apart"));
  out.rho = field<double>(list, "rho");
  out.epsilon = field<double>(list, "epsilon");
  return out;
}

dpsc::learner_facts as_learner(const Rcpp::List& list) {
  dpsc::learner_facts out;
  out.method = field<std::string>(list, "method");
  out.family = field<std::string>(list, "family");
  out.columns = static_cast<std::int64_t>(field<double>(list, "columns"));
  out.radius = field<double>(list, "radius");
  out.clip = field<double>(list, "clip");
  out.ball = field<double>(list, "ball");
  out.psi = field<double>(list, "psi");
  out.lambda = field<double>(list, "lambda");
  out.damping = field<double>(list, "damping");
  return out;
}

dpsc::iterate_facts as_iterates(const Rcpp::List& list) {
  dpsc::iterate_facts out;
  out.method = field<std::string>(list, "method");
  out.family = field<std::string>(list, "family");
  out.published = field<bool>(list, "published");
  out.columns = static_cast<std::int64_t>(field<double>(list, "columns"));
  out.horizon = static_cast<std::int64_t>(field<double>(list, "horizon"));
  out.radius = field<double>(list, "radius");
  out.clip = field<double>(list, "clip");
  out.ball = field<double>(list, "ball");
  out.psi = field<double>(list, "psi");
  out.rho = field<double>(list, "rho");
  out.epsilon = field<double>(list, "epsilon");
  out.delta = field<double>(list, "delta");
  return out;
}

// A plan may be altered in R: audits plant faults in it.
dpsc::stream_plan as_plan(const Rcpp::List& list) {
  dpsc::stream_plan out;
  out.facts = as_facts(list["facts"]);
  out.unit = static_cast<std::int64_t>(field<double>(list, "unit"));
  out.grid = field<int>(list, "grid");
  out.reach = field<double>(list, "reach");
  out.sensitivity = field<double>(list, "sensitivity");
  for (const double scale : field<std::vector<double>>(list, "scale"))
    out.scale.push_back(static_cast<std::int64_t>(scale));
  out.gaussian = field<bool>(list, "gaussian");
  out.rho = field<double>(list, "rho");
  out.epsilon = field<double>(list, "epsilon");
  return out;
}

bool interrupted() {
  return R_ToplevelExec([](void*) { R_CheckUserInterrupt(); }, nullptr) == FALSE;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List stream_plan_cpp(const Rcpp::List& facts) {
  const dpsc::stream_plan plan = dpsc::plan_stream(as_facts(facts));
  return Rcpp::List::create(
      Rcpp::Named("facts") = facts, Rcpp::Named("unit") = static_cast<double>(plan.unit),
      Rcpp::Named("grid") = plan.grid, Rcpp::Named("reach") = plan.reach,
      Rcpp::Named("sensitivity") = plan.sensitivity,
      Rcpp::Named("scale") = Rcpp::NumericVector(plan.scale.begin(), plan.scale.end()),
      Rcpp::Named("gaussian") = plan.gaussian, Rcpp::Named("rho") = plan.rho,
      Rcpp::Named("epsilon") = plan.epsilon);
}

// [[Rcpp::export(rng = false)]]
SEXP stream_open_cpp(const Rcpp::List& plan, const Rcpp::List& learner) {
  auto stream = std::make_unique<live_stream>();
  stream->core = std::make_unique<dpsc::learner>(as_plan(plan), as_learner(learner));
  return stream_pointer(stream.release(), true);
}

// Clean iterates, each released with its own noise (Thakurta, 2013, chapter 5).
// [[Rcpp::export(rng = false)]]
SEXP iterates_open_cpp(const Rcpp::List& facts) {
  auto stream = std::make_unique<live_stream>();
  stream->iterates = std::make_unique<dpsc::perturbed_iterates>(as_iterates(facts));
  return stream_pointer(stream.release(), true);
}

// Sensitivities and standard deviations by step. PUBLIC.
// [[Rcpp::export(rng = false)]]
Rcpp::List iterates_plan_cpp(const Rcpp::List& facts) {
  const dpsc::perturbed_iterates iterates(as_iterates(facts));
  const std::int64_t last = iterates.facts().horizon - 1;
  Eigen::VectorXd moved(last), sd(last);
  for (std::int64_t t = 1; t <= last; ++t) {
    moved[t - 1] = iterates.sensitivity(t);
    sd[t - 1] = iterates.sd(t);
  }
  return Rcpp::List::create(Rcpp::Named("sensitivity") = moved, Rcpp::Named("sd") = sd);
}

// Clean iterates of a made-up stream, for audits.
Eigen::MatrixXd iterates_clean_cpp(const Rcpp::List& facts,
                                   const Eigen::Map<Eigen::MatrixXd>& table) {
  dpsc::perturbed_iterates iterates(as_iterates(facts));
  Eigen::MatrixXd out(table.rows(), iterates.facts().columns);
  dpsc::tape_engine none({});
  dpsc::drawn_noise<dpsc::tape_engine> draws(none);
  for (std::int64_t i = 0; i < table.rows(); ++i) {
    iterates.step(table.data() + i, table.rows(), draws);
    out.row(i) = (iterates.once() ? iterates.theta() : iterates.clean()).transpose();
  }
  return out;
}
const probe iterates_clean_probe("iterates_clean", iterates_clean_cpp);

// [[Rcpp::export(rng = false)]]
bool stream_here_cpp(SEXP pointer) {
  return TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrAddr(pointer) &&
         (stream_pointer(pointer)->core || stream_pointer(pointer)->iterates);
}

// A unique name for a state.
// [[Rcpp::export(rng = false)]]
Rcpp::RawVector state_id_cpp() {
  Rcpp::RawVector out(16);
  dpsc::os_random_bytes(RAW(out), 16);
  return out;
}

namespace {

Rcpp::List advance_iterates(live_stream& stream, const Eigen::Map<Eigen::MatrixXd>& table,
                            bool predict, SEXP rng) {
  dpsc::perturbed_iterates& core = *stream.iterates;
  const std::int64_t n = table.rows();
  if (table.cols() != core.facts().columns + 1)
    throw std::invalid_argument("the table does not fit the stream");
  Eigen::VectorXd scores(predict ? n : 0);
  std::int64_t taken = 0;
  with_noise(rng, [&](dpsc::noise& draws) {
    for (; taken < n; ++taken) {
      if (taken % 1024 == 1023 && interrupted()) break;
      if (predict) scores[taken] = core.score(table.data() + taken, n);
      core.step(table.data() + taken, n, draws);
      const auto t = static_cast<double>(core.steps());
      const double last =
          stream.trace.empty() ? 0.0 : stream.trace[stream.trace.size() - core.facts().columns - 3];
      if (t < 500.0 || t > 1.01 * last) {
        stream.trace.insert(stream.trace.end(), {t, t, 0.0});
        stream.trace.insert(stream.trace.end(), core.theta().data(),
                            core.theta().data() + core.theta().size());
      }
    }
    return 0;
  });
  return Rcpp::List::create(Rcpp::Named("taken") = static_cast<double>(taken),
                            Rcpp::Named("scores") = scores);
}

Eigen::MatrixXd trace_table(const std::vector<double>& trace, Eigen::Index width) {
  Eigen::MatrixXd table(static_cast<Eigen::Index>(trace.size()) / width, width);
  for (Eigen::Index i = 0; i < table.rows(); ++i)
    for (Eigen::Index j = 0; j < width; ++j)
      table(i, j) = trace[static_cast<std::size_t>(i * width + j)];
  return table;
}

}  // namespace

namespace {

/// Returns the number of rows used.
template <typename Engine>
std::int64_t advance_sums(dpsc::learner& core, const Eigen::Map<Eigen::MatrixXd>& table, bool batch,
                          Eigen::VectorXd& scores, Engine& engine,
                          dpsc::exposure_observer* observer) {
  constexpr std::int64_t part = 1024;
  const std::int64_t n = table.rows();
  if (batch) {
    for (std::int64_t i = 0; i < scores.size(); ++i) scores[i] = core.score(table.data() + i, n);
    core.step(table.data(), n, 0, n, engine, observer);
    return n;
  }
  for (std::int64_t taken = 0; taken < n; ++taken) {
    if (taken % part == part - 1 && interrupted()) return taken;
    if (scores.size() > 0) scores[taken] = core.score(table.data() + taken, n);
    core.step(table.data(), n, taken, taken + 1, engine, observer);
  }
  return n;
}

}  // namespace

// Rows of a table, one step each, or all of them one step. Returns the number of rows used (fewer
// than all after an interrupt) and, on request, each row's score before it was used.
// [[Rcpp::export(rng = false)]]
Rcpp::List stream_advance_cpp(SEXP pointer, const Eigen::Map<Eigen::MatrixXd>& table, bool batch,
                              bool predict, SEXP rng) {
  live_stream& stream = alive(pointer);
  if (stream.iterates) return advance_iterates(stream, table, predict, rng);
  dpsc::learner& core = *stream.core;
  if (table.cols() != core.table_columns())
    throw std::invalid_argument("the table does not fit the stream");
  Eigen::VectorXd scores(predict ? table.rows() : 0);
  std::int64_t taken = 0;
  if (TYPEOF(rng) == EXTPTRSXP) {
    taken = handed(rng).with([&](dpsc::noise& draws) {
      dpsc::sorting_engine engine(draws);
      dpsc::handed_exposures shown(draws, core.sums().noise());
      return advance_sums(core, table, batch, scores, engine, &shown);
    });
  } else {
    taken = with_engine(rng, [&](auto& engine) {
      return advance_sums(core, table, batch, scores, engine, nullptr);
    });
  }
  core.refresh();
  return Rcpp::List::create(Rcpp::Named("taken") = static_cast<double>(taken),
                            Rcpp::Named("scores") = scores);
}

// Output of the stream so far: all of it RELEASED or PUBLIC.
// [[Rcpp::export(rng = false)]]
Rcpp::List stream_released_cpp(SEXP pointer) {
  const live_stream& stream = alive(pointer);
  if (stream.iterates) {
    const dpsc::perturbed_iterates& core = *stream.iterates;
    const Eigen::Index p = core.facts().columns;
    const double sd = core.steps() > 0 && core.steps() < core.facts().horizon
                          ? core.sd(core.steps())
                          : core.sd(core.facts().horizon - 1);
    return Rcpp::List::create(
        Rcpp::Named("steps") = static_cast<double>(core.steps()),
        Rcpp::Named("rows") = static_cast<double>(core.steps()),
        Rcpp::Named("estimate") = core.theta(),
        Rcpp::Named("noise") = Eigen::MatrixXd(Eigen::MatrixXd::Identity(p, p) * sd * sd),
        Rcpp::Named("share") = 1.0, Rcpp::Named("trace") = trace_table(stream.trace, p + 3));
  }
  const dpsc::learner& core = *stream.core;
  const Eigen::MatrixXd table =
      trace_table(core.trace(), static_cast<Eigen::Index>(core.facts().columns + 3));
  Rcpp::List out = Rcpp::List::create(
      Rcpp::Named("steps") = static_cast<double>(core.steps()), Rcpp::Named("rows") = core.rows(),
      Rcpp::Named("estimate") = core.estimate(), Rcpp::Named("noise") = core.noise_covariance(),
      Rcpp::Named("share") = core.share(), Rcpp::Named("trace") = table);
  if (core.facts().method == "gram") {
    out["moments"] = core.moments();
    out["moment_sd"] = core.moment_sd();
  }
  return out;
}

// Least squares from the released moments of a gram stream, see dpsc/estimate/stream_slopes.hpp.
// `curvature`: "known", "few rows", "collinear" or "hidden".
// [[Rcpp::export(rng = false)]]
Rcpp::List stream_slopes_cpp(const Eigen::MatrixXd& moments, double sd, double n, double radius,
                             bool intercept) {
  static const char* const words[] = {"known", "few rows", "collinear", "hidden"};
  const dpsc::stream_slopes found = dpsc::solve_stream({moments, sd, n, radius, intercept});
  return Rcpp::List::create(Rcpp::Named("curvature") = words[static_cast<int>(found.curvature)],
                            Rcpp::Named("estimate") = found.estimate,
                            Rcpp::Named("privacy") = found.privacy,
                            Rcpp::Named("total") = found.total);
}

// Released running moments of a gram stream, and the noise of a diagonal entry.
// [[Rcpp::export(rng = false)]]
Rcpp::List stream_moments_cpp(SEXP pointer) {
  const live_stream& stream = alive(pointer);
  if (!stream.core || stream.core->facts().method != "gram")
    throw std::invalid_argument("not a stream of moments");
  return Rcpp::List::create(Rcpp::Named("moments") = stream.core->moments(),
                            Rcpp::Named("sd") = stream.core->moment_sd(),
                            Rcpp::Named("rows") = stream.core->rows());
}

// Writes the state. A private state is moved: afterwards it is in the file and nowhere else. A
// public state (trees only) stays in memory: before anything is written, every open node of the
// live state gets fresh noise, so that subtracting the file's content from later releases reveals
// nothing. `crash_at` kills the process after a step of the write; tests only.
// [[Rcpp::export(rng = false)]]
void stream_save_cpp(SEXP pointer, const std::string& path, const Rcpp::RawVector& id,
                     const Rcpp::RawVector& meta, bool is_public, SEXP rng, int crash_at) {
  live_stream& stream = alive(pointer);
  if (!stream.core) throw std::invalid_argument("this method has no checkpoints");
  dpsc::checkpoint_file file;
  file.is_public = is_public;
  file.id.assign(id.begin(), id.end());
  file.meta.assign(meta.begin(), meta.end());
  dpsc::state_writer out;
  stream.core->write(out);
  file.core = out.bytes();
  if (is_public) {
    dpsc::tree_sums* tree = stream.core->sums().tree();
    if (!tree) throw std::invalid_argument("only trees can be published");
    with_engine(rng, [&](auto& engine) {
      tree->refresh(tree->draw_refresh(stream.core->sums().noise(), engine));
      return 0;
    });
  }
  std::function<void(int)> crash;
  if (crash_at > 0)
    crash = [crash_at](int step) {
      if (step == crash_at) std::raise(crash_at > 100 ? SIGABRT : SIGKILL);
    };
  dpsc::write_whole(path, dpsc::checkpoint_bytes(file), !is_public, crash);
  if (!is_public) stream.core.reset();
}

// A checkpoint's own facts, without its state.
// [[Rcpp::export(rng = false)]]
Rcpp::List stream_peek_cpp(const std::string& path) {
  const dpsc::checkpoint_file file = dpsc::parse_checkpoint(dpsc::read_whole(path));
  return Rcpp::List::create(
      Rcpp::Named("public") = file.is_public,
      Rcpp::Named("id") = Rcpp::RawVector(file.id.begin(), file.id.end()),
      Rcpp::Named("meta") = Rcpp::RawVector(file.meta.begin(), file.meta.end()));
}

// A live stream from a checkpoint; a public stream gets fresh noise on every open node. `id` must
// be the identifier in the file, under which it was claimed.
// [[Rcpp::export(rng = false)]]
SEXP stream_load_cpp(const std::string& path, const Rcpp::RawVector& id, SEXP rng) {
  const dpsc::checkpoint_file file = dpsc::parse_checkpoint(dpsc::read_whole(path));
  if (file.id != std::vector<unsigned char>(id.begin(), id.end()))
    throw dpsc::state_error("the checkpoint changed while it was read");
  dpsc::state_reader in(file.core);
  auto stream = std::make_unique<live_stream>();
  stream->core = std::make_unique<dpsc::learner>();
  stream->core->read(in);
  if (file.is_public) {
    dpsc::tree_sums* tree = stream->core->sums().tree();
    if (!tree) throw dpsc::state_error("the checkpoint is damaged");
    with_engine(rng, [&](auto& engine) {
      tree->refresh(tree->draw_refresh(stream->core->sums().noise(), engine));
      return 0;
    });
  }
  return stream_pointer(stream.release(), true);
}

// Audits, on made-up streams only -----------------------------------------------------------------

namespace {

struct recorder final : dpsc::exposure_observer {
  std::vector<std::int64_t> values;
  void seen(std::int64_t* value, Eigen::Index d) override {
    values.insert(values.end(), value, value + d);
  }
};

// Outputs another stream's released value, and stores the distance of this stream's value from it.
struct replayer final : dpsc::exposure_observer {
  const std::vector<std::int64_t>* recorded = nullptr;
  const std::vector<std::int64_t>* scale = nullptr;
  std::size_t at = 0;
  double cost = 0.0;     // sum of shift^2 / (2 sigma^2)
  double pure = 0.0;     // sum of |shift| / scale
  double squared = 0.0;  // sum of shift^2
  void seen(std::int64_t* value, Eigen::Index d) override {
    for (Eigen::Index i = 0; i < d; ++i, ++at) {
      const double shift = static_cast<double>(value[i] - recorded->at(at));
      const double s = static_cast<double>((*scale)[static_cast<std::size_t>(i)]);
      if (s > 0.0) {
        cost += shift * shift / (2.0 * s * s);
        pure += std::fabs(shift) / s;
      }
      squared += shift * shift;
      value[i] = recorded->at(at);
    }
  }
};

}  // namespace

// Records a stream and replays its neighbour with the same noise and the same releases: the result
// is the shift of every released integer. `rng` must be a tape: otherwise the noise differs.
Rcpp::List stream_replay_cpp(const Rcpp::List& plan, const Rcpp::List& learner,
                             const Eigen::Map<Eigen::MatrixXd>& table,
                             const Eigen::Map<Eigen::MatrixXd>& other, SEXP rng) {
  const dpsc::stream_plan p = as_plan(plan);
  dpsc::learner first(p, as_learner(learner)), second(p, as_learner(learner));
  recorder record;
  with_engine(rng, [&](auto& engine) {
    for (std::int64_t i = 0; i < table.rows(); ++i)
      first.step(table.data(), table.rows(), i, i + 1, engine, &record);
    return 0;
  });
  replayer replay;
  replay.recorded = &record.values;
  replay.scale = &p.scale;
  with_engine(rng, [&](auto& engine) {
    for (std::int64_t i = 0; i < other.rows(); ++i)
      second.step(other.data(), other.rows(), i, i + 1, engine, &replay);
    return 0;
  });
  return Rcpp::List::create(
      Rcpp::Named("rho") = replay.cost, Rcpp::Named("epsilon") = replay.pure,
      Rcpp::Named("squared") = replay.squared,
      Rcpp::Named("released") = static_cast<double>(record.values.size()),
      Rcpp::Named("same") = (first.theta() - second.theta()).cwiseAbs().maxCoeff() == 0.0);
}
const probe stream_replay_probe("stream_replay", stream_replay_cpp);

// The open nodes that a checkpoint of a tree shows, in order of level.
std::vector<double> stream_shown_nodes_cpp(const std::string& path) {
  const dpsc::checkpoint_file file = dpsc::parse_checkpoint(dpsc::read_whole(path));
  dpsc::state_reader in(file.core);
  dpsc::learner core;
  core.read(in);
  recorder record;
  if (dpsc::tree_sums* tree = core.sums().tree()) tree->show_open(record);
  return {record.values.begin(), record.values.end()};
}
const probe stream_shown_nodes_probe("stream_shown_nodes", stream_shown_nodes_cpp);

// One step of a live stream, and every integer that it released.
std::vector<double> stream_exposed_cpp(SEXP pointer, const Eigen::Map<Eigen::MatrixXd>& row,
                                       SEXP rng) {
  live_stream& stream = alive(pointer);
  if (!stream.core) throw std::invalid_argument("not a stream of running sums");
  dpsc::learner& core = *stream.core;
  recorder record;
  with_engine(rng, [&](auto& engine) {
    core.step(row.data(), row.rows(), 0, row.rows(), engine, &record);
    return 0;
  });
  return {record.values.begin(), record.values.end()};
}
const probe stream_exposed_probe("stream_exposed", stream_exposed_cpp);

// Estimates after each row, and their variances in units of a node's noise: for tests of accuracy.
Rcpp::List stream_path_cpp(const Rcpp::List& plan, const Rcpp::List& learner,
                           const Eigen::Map<Eigen::MatrixXd>& table, SEXP rng) {
  dpsc::learner core(as_plan(plan), as_learner(learner));
  Eigen::MatrixXd out(table.rows(), core.facts().columns);
  Eigen::VectorXd sd(table.rows());
  with_engine(rng, [&](auto& engine) {
    for (std::int64_t i = 0; i < table.rows(); ++i) {
      core.step(table.data(), table.rows(), i, i + 1, engine);
      out.row(i) = core.estimate().transpose();
      sd[i] = core.sums().sd(0);
    }
    return 0;
  });
  return Rcpp::List::create(Rcpp::Named("estimate") = out, Rcpp::Named("sd") = sd);
}
const probe stream_path_probe("stream_path", stream_path_cpp);

Rcpp::NumericVector whole_sigma_gaussian_cpp(int n, double sigma, SEXP rng) {
  const dpsc::whole_sigma_gaussian law(static_cast<std::int64_t>(sigma));
  Rcpp::NumericVector out(n);
  with_engine(rng, [&](auto& engine) {
    for (double& value : out) value = static_cast<double>(law(engine));
    return 0;
  });
  return out;
}
const probe whole_sigma_gaussian_probe("whole_sigma_gaussian", whole_sigma_gaussian_cpp);
