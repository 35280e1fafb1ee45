// Rows of people on the ranks of MPI, donors' or a regression's. Rank 0 asks, every rank adds up
// its own rows, and the sums are reduced to rank 0 alone, which draws the noise once: other ranks
// never have them (MPI_Reduce, not MPI_Allreduce), and run code without a source of noise. Sums
// are whole numbers below 2^53, so that the result equals one process's, bit for bit.
//
// Sums leave a rank WITHOUT NOISE: the people who run the cluster are trusted.
#pragma once

#include <mpi.h>

#include <cmath>
#include <dpsc/mechanism/people_answers.hpp>
#include <dpsc/rows/source.hpp>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace dpsc_mpi {

enum class task { stop, energy, moments, sample, product_energy, product_sums, people };

inline int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// Whole numbers and doubles of a question, on every rank after the call.
struct message {
  std::vector<double> numbers;

  void share(MPI_Comm comm) {
    double size = static_cast<double>(numbers.size());
    MPI_Bcast(&size, 1, MPI_DOUBLE, 0, comm);
    numbers.resize(static_cast<std::size_t>(size));
    MPI_Bcast(numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, 0, comm);
  }
};

inline void put(message& to, const double* x, Eigen::Index size) {
  to.numbers.insert(to.numbers.end(), x, x + size);
}

inline message write_map(task what, const dpsc::row_map& map) {
  message out;
  out.numbers = {static_cast<double>(what), static_cast<double>(map.periods()),
                 static_cast<double>(map.dimension()), map.scale, map.rescale};
  put(out, map.centre.data(), map.centre.size());
  put(out, map.limit.data(), map.limit.size());
  put(out, map.loadings.data(), map.loadings.size());
  put(out, map.origin.data(), map.origin.size());
  return out;
}

inline message write_map(task what, const dpsc::product_map& map) {
  message out = write_map(what, map.features);
  out.numbers.push_back(map.lift);
  out.numbers.push_back(map.slope);
  return out;
}

/// Reads what write_map() wrote; `at` is behind it.
inline dpsc::row_map read_map(const message& from, std::size_t& at) {
  const std::vector<double>& x = from.numbers;
  const auto T = static_cast<Eigen::Index>(x.at(1)), d = static_cast<Eigen::Index>(x.at(2));
  at = 5;
  const auto take = [&](Eigen::Index rows, Eigen::Index columns) {
    const Eigen::MatrixXd out = Eigen::Map<const Eigen::MatrixXd>(x.data() + at, rows, columns);
    at += static_cast<std::size_t>(rows * columns);
    return out;
  };
  dpsc::row_map map;
  map.scale = x.at(3);
  map.rescale = x.at(4);
  map.on_grid = true;
  map.centre = take(T, 1);
  map.limit = take(T, 1);
  map.loadings = take(T, d);
  map.origin = take(d, 1);
  map.check();
  return map;
}

/// A regression's question with the location that it refers to; the design is every rank's own.
struct held_question {
  dpsc::lm_location location;
  dpsc::people_question question;
};

inline message write_question(const dpsc::people_question& q) {
  message out;
  const bool located = q.location != nullptr, mapped = q.map.centre.size() > 0;
  const Eigen::VectorXd none;
  const Eigen::VectorXd& median = located ? q.location->median : none;
  const Eigen::VectorXd& scale = located ? q.location->scale : none;
  out.numbers = {static_cast<double>(task::people),
                 static_cast<double>(q.what),
                 q.width,
                 q.cells,
                 q.radius,
                 q.clip,
                 q.limit,
                 q.residual_limit,
                 q.constant,
                 q.score_limit,
                 static_cast<double>(q.middle.size()),
                 static_cast<double>(q.limits.size()),
                 static_cast<double>(median.size()),
                 mapped ? 1.0 : 0.0};
  out.numbers.insert(out.numbers.end(), q.middle.begin(), q.middle.end());
  out.numbers.insert(out.numbers.end(), q.limits.begin(), q.limits.end());
  put(out, median.data(), median.size());
  put(out, scale.data(), scale.size());
  if (mapped) {
    const message map = write_map(task::people, q.map);
    out.numbers.insert(out.numbers.end(), map.numbers.begin(), map.numbers.end());
  }
  return out;
}

/// Reads what write_question() wrote. Its map is checked, as all maps are.
inline void read_question(const message& from, const dpsc::lm_design& design, held_question& into) {
  const std::vector<double>& x = from.numbers;
  dpsc::people_question& q = into.question;
  q.what = static_cast<dpsc::people_question::kind>(static_cast<int>(x.at(1)));
  q.design = &design;
  q.width = x.at(2);
  q.cells = x.at(3);
  q.radius = x.at(4);
  q.clip = x.at(5);
  q.limit = x.at(6);
  q.residual_limit = x.at(7);
  q.constant = x.at(8);
  q.score_limit = x.at(9);
  std::size_t at = 14;
  const auto take = [&](double size) {
    const double* first = x.data() + at;
    at += static_cast<std::size_t>(size);
    return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(size));
  };
  const auto vector = [&](double size) {
    const std::vector<double> taken = take(size);
    return Eigen::VectorXd(
        Eigen::Map<const Eigen::VectorXd>(taken.data(), static_cast<Eigen::Index>(taken.size())));
  };
  q.middle = take(x.at(10));
  q.limits = take(x.at(11));
  into.location.median = vector(x.at(12));
  into.location.scale = vector(x.at(12));
  q.location = &into.location;
  if (x.at(13) > 0.0) {
    message map;
    map.numbers = take(static_cast<double>(x.size() - at));
    std::size_t behind = 0;
    q.map = read_map(map, behind);
  }
}

/// Sums of all ranks, on rank 0; elsewhere nothing.
inline std::vector<double> reduce(std::vector<double> own, MPI_Comm comm) {
  std::vector<double> all(rank_of(comm) == 0 ? own.size() : 0);
  MPI_Reduce(own.data(), all.data(), static_cast<int>(own.size()), MPI_DOUBLE, MPI_SUM, 0, comm);
  return all;
}

inline double count_rows(const dpsc::row_source& rows) {
  double n = 0.0;
  rows.pass([&](const dpsc::table_view& table) { n += static_cast<double>(table.rows); });
  return n;
}

inline void append(std::vector<double>& to, const std::vector<double>& x) {
  to.insert(to.end(), x.begin(), x.end());
}

inline void append(std::vector<double>& to, const Eigen::MatrixXd& x) {
  to.insert(to.end(), x.data(), x.data() + x.size());
}

inline bool is_energy(task what) { return what == task::energy || what == task::product_energy; }

/// This rank's sums; what is behind the map begins at `at`.
template <typename Map>
std::vector<double> own_sums(task what, const Map& map, const std::vector<double>& x,
                             std::size_t at, const dpsc::row_source& own) {
  using clipped = std::conditional_t<std::is_same_v<Map, dpsc::row_map>, dpsc::clipped_moments,
                                     dpsc::clipped_sums>;
  const auto idle = [](double) {};
  std::vector<double> sums{count_rows(own)};
  if (is_energy(what)) {
    const int bits = static_cast<int>(x.at(at));
    dpsc::radius_energy energy({x.begin() + static_cast<std::ptrdiff_t>(at) + 1, x.end()}, 1, bits);
    dpsc::add_features(own, map, energy, idle);
    append(sums, energy.kept());
    append(sums, energy.beyond());
  } else {
    clipped rows(map.dimension(), x.at(at), x.at(at + 1));
    dpsc::add_features(own, map, rows, idle);
    append(sums, Eigen::MatrixXd(rows.sum()));
    if constexpr (std::is_same_v<Map, dpsc::row_map>) append(sums, rows.gram());
  }
  return sums;
}

/// This rank's answer to a question, added to those of all others.
inline std::vector<double> answer(const message& question, const dpsc::row_source& own,
                                  MPI_Comm comm) {
  std::size_t at = 0;
  const dpsc::row_map map = read_map(question, at);
  const std::vector<double>& x = question.numbers;
  const auto what = static_cast<task>(static_cast<int>(x[0]));
  if (what != task::product_energy && what != task::product_sums)
    return reduce(own_sums(what, map, x, at, own), comm);
  const dpsc::product_map products{map, x.at(at), x.at(at + 1)};
  products.check();
  return reduce(own_sums(what, products, x, at + 2, own), comm);
}

/// The same of a regression's question: rows, those who are there, sums.
inline std::vector<double> answer_people(const dpsc::people_question& question,
                                         const dpsc::row_source& own, MPI_Comm comm) {
  const dpsc::people_sums found = dpsc::answer_people(own, question, [](double) {});
  std::vector<double> sums{found.rows, found.there};
  append(sums, question.counts() ? found.sums
                                 : Eigen::MatrixXd(found.sums.selfadjointView<Eigen::Lower>()));
  return reduce(std::move(sums), comm);
}

/// Rows of this rank at some places, which count all ranks' rows: for a calibration that was
/// allowed.
inline std::vector<double> pick(const dpsc::row_source& own, double before,
                                const dpsc::row_positions& which) {
  std::vector<double> out;
  own.rows_at(which.from(static_cast<Eigen::Index>(before)), [&](const dpsc::table_view& table) {
    for (Eigen::Index i = 0; i < table.rows; ++i)
      for (Eigen::Index t = 0; t < table.columns; ++t)
        out.push_back(table.reals[t * table.rows + i]);
  });
  return out;
}

/// Places as a message, and back.
inline message write_positions(const dpsc::row_positions& which) {
  message out{{static_cast<double>(task::sample), which.all ? 1.0 : 0.0}};
  out.numbers.insert(out.numbers.end(), which.at.begin(), which.at.end());
  return out;
}

inline dpsc::row_positions read_positions(const message& from) {
  dpsc::row_positions out{from.numbers.at(1) == 1.0, {}};
  for (std::size_t i = 2; i < from.numbers.size(); ++i)
    out.at.push_back(static_cast<Eigen::Index>(from.numbers[i]));
  return out;
}

inline double rows_before(const dpsc::row_source& own, MPI_Comm comm) {
  double mine = count_rows(own), upto = 0.0;
  MPI_Scan(&mine, &upto, 1, MPI_DOUBLE, MPI_SUM, comm);
  return upto - mine;
}

/// The work of ranks other than 0: they answer until rank 0 has finished. There is no noise here.
/// @param design of a regression whose people the rows are; none for donors.
inline void serve(const dpsc::row_source& own, MPI_Comm comm,
                  const dpsc::lm_design* design = nullptr) {
  if (rank_of(comm) == 0) throw std::logic_error("rank 0 asks, the others answer");
  const double before = rows_before(own, comm);
  for (message question;; question = {}) {
    question.share(comm);
    const auto what = static_cast<task>(static_cast<int>(question.numbers.at(0)));
    if (what == task::stop) return;
    if (what == task::people) {
      if (design == nullptr) throw std::logic_error("these rows are no regression's");
      held_question held;
      read_question(question, *design, held);
      answer_people(held.question, own, comm);
      continue;
    }
    if (what != task::sample) {
      answer(question, own, comm);
      continue;
    }
    const std::vector<double> rows = pick(own, before, read_positions(question));
    MPI_Send(rows.data(), static_cast<int>(rows.size()), MPI_DOUBLE, 0, 0, comm);
  }
}

/// All ranks' rows, for a release on rank 0, the only rank that can make one.
class coordinator : public dpsc::row_source {
 public:
  /// `calibrate`: may the rows that calibrate travel to rank 0?
  coordinator(const dpsc::row_source& own, Eigen::Index periods, bool calibrate, MPI_Comm comm)
      : own_(own), periods_(periods), calibrate_(calibrate), comm_(comm) {
    if (rank_of(comm) != 0)
      throw std::logic_error("only rank 0 makes a release: this rank draws no noise");
    rows_before(own, comm);
  }
  coordinator(const coordinator&) = delete;
  coordinator& operator=(const coordinator&) = delete;
  ~coordinator() override {
    message stop{{static_cast<double>(task::stop)}};
    stop.share(comm_);
  }

  void pass(const dpsc::table_visitor&) const override {
    throw std::logic_error("rows stay on their ranks");
  }

  bool ask(const dpsc::row_map& map, dpsc::radius_energy& into) const override {
    return energy(write_map(task::energy, map), into);
  }

  bool ask(const dpsc::product_map& map, dpsc::radius_energy& into) const override {
    return energy(write_map(task::product_energy, map), into);
  }

  bool ask(const dpsc::row_map& map, dpsc::clipped_moments& into) const override {
    const std::vector<double> sums = clipped(write_map(task::moments, map), into);
    const Eigen::Index d = map.dimension();
    into.add_sums(Eigen::Map<const Eigen::VectorXd>(sums.data() + 1, d),
                  Eigen::Map<const Eigen::MatrixXd>(sums.data() + 1 + d, d, d), sums[0]);
    return true;
  }

  bool ask(const dpsc::product_map& map, dpsc::clipped_sums& into) const override {
    const std::vector<double> sums = clipped(write_map(task::product_sums, map), into);
    into.add_sums(Eigen::Map<const Eigen::VectorXd>(sums.data() + 1, map.dimension()), sums[0]);
    return true;
  }

  bool ask(const dpsc::people_question& asked, dpsc::people_sums& into) const override {
    message question = write_question(asked);
    question.share(comm_);
    const std::vector<double> sums = answer_people(asked, own_, comm_);
    into.add(
        asked,
        Eigen::Map<const Eigen::MatrixXd>(sums.data() + 2, asked.height(), asked.width_of_answer()),
        sums[0], sums[1]);
    return true;
  }

  bool answers() const override { return true; }

  Eigen::Index rows_at(const dpsc::row_positions& which,
                       const dpsc::table_visitor& visit) const override {
    if (!calibrate_) throw std::logic_error("rows stay on their ranks");
    message question = write_positions(which);
    question.share(comm_);
    int ranks = 0;
    MPI_Comm_size(comm_, &ranks);
    show(pick(own_, 0.0, which), visit);
    for (int from = 1; from < ranks; ++from) {
      MPI_Status status;
      int size = 0;
      MPI_Probe(from, 0, comm_, &status);
      MPI_Get_count(&status, MPI_DOUBLE, &size);
      std::vector<double> rows(static_cast<std::size_t>(size));
      MPI_Recv(rows.data(), size, MPI_DOUBLE, from, 0, comm_, MPI_STATUS_IGNORE);
      show(rows, visit);
    }
    return total();
  }

 private:
  bool energy(message question, dpsc::radius_energy& into) const {
    question.numbers.push_back(std::log2(into.one()));
    append(question.numbers, into.squared_radii());
    question.share(comm_);
    const std::vector<double> sums = answer(question, own_, comm_);
    const auto radii = static_cast<std::ptrdiff_t>(into.squared_radii().size());
    into.add_sums({sums.begin() + 1, sums.begin() + 1 + radii},
                  {sums.begin() + 1 + radii, sums.end()}, sums[0]);
    return true;
  }

  std::vector<double> clipped(message question, const dpsc::clipped_sums& into) const {
    append(question.numbers, std::vector<double>{into.radius(), into.limit()});
    question.share(comm_);
    return answer(question, own_, comm_);
  }

  void show(const std::vector<double>& rows, const dpsc::table_visitor& visit) const {
    const auto n = static_cast<Eigen::Index>(rows.size()) / periods_;
    const Eigen::MatrixXd table =
        Eigen::Map<const Eigen::MatrixXd>(rows.data(), periods_, n).transpose();
    if (n > 0) visit({table.data(), nullptr, n, periods_});
  }

  Eigen::Index total() const {
    dpsc::row_map none{Eigen::VectorXd::Zero(periods_),
                       1.0,
                       Eigen::VectorXd::Ones(periods_),
                       Eigen::MatrixXd::Ones(periods_, 1),
                       1.0,
                       Eigen::VectorXd::Zero(1),
                       true};
    message question = write_map(task::moments, none);
    append(question.numbers, std::vector<double>{1.0, 1.0});
    question.share(comm_);
    return static_cast<Eigen::Index>(answer(question, own_, comm_)[0]);
  }

  const dpsc::row_source& own_;
  Eigen::Index periods_;
  bool calibrate_;
  MPI_Comm comm_;
};

}  // namespace dpsc_mpi
