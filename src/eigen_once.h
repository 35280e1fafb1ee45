// Eigen's kernels for matrices of doubles, compiled once, in eigen_once.cpp, and not in every
// translation unit that multiplies or decomposes. They are named as in Eigen: with a version of
// Eigen other than those tried here, each unit compiles its own kernels again, which takes longer
// and gives the same bits. eigen_once.cpp includes this file twice, so only names have a guard.
#include <Eigen/Dense>

#ifndef DPSC_EIGEN
#define DPSC_EIGEN extern template
#endif

#if EIGEN_WORLD_VERSION == 3 && EIGEN_MAJOR_VERSION == 3 && EIGEN_MINOR_VERSION == 9
namespace Eigen {

#ifndef DPSC_EIGEN_NAMES
#define DPSC_EIGEN_NAMES
using dpsc_in = Block<const MatrixXd, Dynamic, 1>;
using dpsc_part = Block<MatrixXd, Dynamic, Dynamic>;
namespace internal {
template <int order>
using dpsc_map = const_blas_data_mapper<double, Index, order>;
using dpsc_out = blas_data_mapper<double, Index, ColMajor>;
using dpsc_blocking = level3_blocking<double, double>;
}  // namespace internal
#endif

DPSC_EIGEN class LLT<MatrixXd>;
DPSC_EIGEN class LDLT<MatrixXd>;
DPSC_EIGEN class PartialPivLU<MatrixXd>;
DPSC_EIGEN class ColPivHouseholderQR<MatrixXd>;
DPSC_EIGEN class SelfAdjointEigenSolver<MatrixXd>;
DPSC_EIGEN SelfAdjointEigenSolver<MatrixXd>& SelfAdjointEigenSolver<MatrixXd>::compute<MatrixXd>(
    const EigenBase<MatrixXd>&, int);
DPSC_EIGEN void LLT<MatrixXd>::_solve_impl<VectorXd, VectorXd>(const VectorXd&, VectorXd&) const;
DPSC_EIGEN void LLT<MatrixXd>::_solve_impl<MatrixXd, MatrixXd>(const MatrixXd&, MatrixXd&) const;
DPSC_EIGEN void LDLT<MatrixXd>::_solve_impl<VectorXd, VectorXd>(const VectorXd&, VectorXd&) const;
DPSC_EIGEN void LDLT<MatrixXd>::_solve_impl<MatrixXd, MatrixXd>(const MatrixXd&, MatrixXd&) const;
DPSC_EIGEN void MatrixBase<dpsc_part>::applyHouseholderOnTheLeft<dpsc_in>(const dpsc_in&,
                                                                          const double&, double*);
DPSC_EIGEN void MatrixBase<dpsc_part>::applyHouseholderOnTheRight<dpsc_in>(const dpsc_in&,
                                                                           const double&, double*);
DPSC_EIGEN void HouseholderSequence<MatrixXd, VectorXd, 1>::evalTo<MatrixXd, VectorXd>(
    MatrixXd&, VectorXd&) const;

namespace internal {

DPSC_EIGEN void evaluateProductBlockingSizesHeuristic<double, double, 1, Index>(Index&, Index&,
                                                                                Index&, Index);
DPSC_EIGEN void evaluateProductBlockingSizesHeuristic<double, double, 4, Index>(Index&, Index&,
                                                                                Index&, Index);
DPSC_EIGEN struct gebp_kernel<double, double, Index, dpsc_out, 4, 4>;
DPSC_EIGEN struct gemm_pack_lhs<double, Index, dpsc_map<RowMajor>, 4, 2, RowMajor>;
DPSC_EIGEN struct gemm_pack_lhs<double, Index, dpsc_map<ColMajor>, 4, 2, ColMajor>;
DPSC_EIGEN struct gemm_pack_rhs<double, Index, dpsc_map<RowMajor>, 4, RowMajor>;
DPSC_EIGEN struct gemm_pack_rhs<double, Index, dpsc_map<ColMajor>, 4, ColMajor>;
DPSC_EIGEN struct gemm_pack_rhs<double, Index, dpsc_out, 4, ColMajor, false, true>;

DPSC_EIGEN struct general_matrix_vector_product<Index, double, dpsc_map<RowMajor>, RowMajor, false,
                                                double, dpsc_map<ColMajor>, false, 0>;
DPSC_EIGEN struct general_matrix_vector_product<Index, double, dpsc_map<RowMajor>, RowMajor, false,
                                                double, dpsc_map<RowMajor>, false, 0>;
DPSC_EIGEN struct general_matrix_vector_product<Index, double, dpsc_map<ColMajor>, ColMajor, false,
                                                double, dpsc_map<RowMajor>, false, 0>;
DPSC_EIGEN struct general_matrix_vector_product<Index, double, dpsc_map<ColMajor>, ColMajor, false,
                                                double, dpsc_map<ColMajor>, false, 0>;
DPSC_EIGEN struct general_matrix_vector_product<Index, double, dpsc_map<RowMajor>, RowMajor, false,
                                                double, dpsc_map<RowMajor>, false, 1>;
DPSC_EIGEN struct general_matrix_vector_product<Index, double, dpsc_map<ColMajor>, ColMajor, false,
                                                double, dpsc_map<RowMajor>, false, 1>;

DPSC_EIGEN struct general_matrix_matrix_product<Index, double, ColMajor, false, double, ColMajor,
                                                false, ColMajor, 1>;
DPSC_EIGEN struct general_matrix_matrix_product<Index, double, ColMajor, false, double, RowMajor,
                                                false, ColMajor, 1>;
DPSC_EIGEN struct general_matrix_matrix_product<Index, double, RowMajor, false, double, ColMajor,
                                                false, ColMajor, 1>;

DPSC_EIGEN struct triangular_solve_vector<double, double, Index, OnTheLeft, 5, false, ColMajor>;
DPSC_EIGEN struct triangular_solve_vector<double, double, Index, OnTheLeft, Lower, false, ColMajor>;
DPSC_EIGEN struct triangular_solve_vector<double, double, Index, OnTheLeft, Upper, false, ColMajor>;
DPSC_EIGEN struct triangular_solve_vector<double, double, Index, OnTheLeft, Upper, false, RowMajor>;
DPSC_EIGEN struct triangular_solve_matrix<double, Index, OnTheLeft, 1, false, ColMajor, ColMajor,
                                          1>;
DPSC_EIGEN struct triangular_solve_matrix<double, Index, OnTheLeft, 2, false, ColMajor, ColMajor,
                                          1>;
DPSC_EIGEN struct triangular_solve_matrix<double, Index, OnTheLeft, 5, false, ColMajor, ColMajor,
                                          1>;
DPSC_EIGEN struct triangular_solve_matrix<double, Index, OnTheLeft, 2, false, RowMajor, ColMajor,
                                          1>;
DPSC_EIGEN struct triangular_solve_matrix<double, Index, OnTheLeft, 6, false, RowMajor, ColMajor,
                                          1>;
DPSC_EIGEN struct triangular_solve_matrix<double, Index, OnTheRight, 2, false, RowMajor, ColMajor,
                                          1>;

DPSC_EIGEN struct selfadjoint_matrix_vector_product<double, Index, ColMajor, Lower, false, false,
                                                    0>;

DPSC_EIGEN ComputationInfo computeFromTridiagonal_impl<MatrixXd, VectorXd, VectorXd>(
    VectorXd&, VectorXd&, const Index, bool, MatrixXd&);
DPSC_EIGEN void tridiagonalization_inplace<MatrixXd, VectorXd>(MatrixXd&, VectorXd&);
DPSC_EIGEN void
tridiagonalization_inplace_selector<MatrixXd, Dynamic, false>::run<VectorXd, VectorXd>(MatrixXd&,
                                                                                       VectorXd&,
                                                                                       VectorXd&,
                                                                                       bool);
DPSC_EIGEN bool ldlt_inplace<Lower>::unblocked<MatrixXd, Transpositions<Dynamic, Dynamic, int>,
                                               VectorXd>(MatrixXd&,
                                                         Transpositions<Dynamic, Dynamic, int>&,
                                                         VectorXd&, SignMatrix&);
DPSC_EIGEN struct partial_lu_impl<double, ColMajor, int>;

}  // namespace internal
}  // namespace Eigen
#endif
#undef DPSC_EIGEN
