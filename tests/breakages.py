"""Breaks the code on purpose, one line at a time, and reports which tests notice: `make breakages`.

Each breakage is a mistake that a maintainer could make. It is applied to a copy of the repository, and the tests that
should notice it run there, in a fork of a process that has imported torch. Two harmless changes show that these tests
do not fail at every change.

Exits with 1 if a breakage no longer applies, if no test notices it, or if a harmless change fails a test.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import gc
import multiprocessing
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Literal

import pytest

ROOT = Path(__file__).resolve().parents[1]
CACHES = ("build/misconceptions", "build/failures")
CHECKS = "exercises/checks"
WORKERS = 2
TIMEOUT = 300
FORKS = multiprocessing.get_context("forkserver")
IMPORTED = ["torch", "pytest", "pydantic", "yaml", "jinja2", "rich.markdown", "typer"]
BUILD_CHECKS = "from grader.course.model import find_course; find_course().checks"
FILL_CACHES = """\
from pathlib import Path
from grader.course import model
from grader.engine import failure_matrix
from grader.testing import misconceptions
found = model.load_course(Path.cwd())
misconceptions.build(found, found.units)
failure_matrix.fill(found, found.units)
"""


@dataclass(frozen=True)
class Change:
    """One change to the code.

    Attributes:
        name: What goes wrong, in a few words.
        file: The file to change, relative to the repository's root.
        old: The text to replace, which occurs exactly once.
        new: What replaces it.
        tests: The tests that should notice it, as arguments of pytest, separated by spaces.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str


# By area. The formatter would put each text on its own line.
# fmt: off
BREAKAGES = {
    "sandbox": [
        Change(
            "the seccomp filter is left out of the lockdown", "grader/sandbox/lockdown.py",
            "        apply_filter(program)\n", "        pass\n",
            "tests/sandbox/test_server.py::test_the_kernel_itself_says_that_the_process_is_filtered"),
        Change(
            "Landlock is left out of the lockdown", "grader/sandbox/lockdown.py",
            "        apply_landlock(landlock)\n", "        pass\n",
            "tests/sandbox/test_lockdown.py::test_without_the_filter_lock_in_still_refuses_to_open_a_file"),
        Change(
            "clone may start a process or a thread", "grader/sandbox/lockdown.py",
            '_add_rule(rules, pyseccomp.ERRNO(errno.EAGAIN), "clone")', '_add_rule(rules, pyseccomp.ALLOW, "clone")',
            "tests/sandbox/test_lockdown.py::test_with_the_filter_alone_no_thread_can_be_started"),
        Change(
            "student code may raise its own limits", "grader/sandbox/lockdown.py",
            "resource.setrlimit(name, (value, value))",
            "resource.setrlimit(name, (value, resource.getrlimit(name)[1]))",
            "tests/sandbox/test_lockdown.py::test_limits_bind_soft_and_hard_alike"),
        Change(
            "a reply may have bytes that belong to no tensor", "grader/sandbox/values.py",
            "        if self.place != len(self._data):", "        if self.place > len(self._data):",
            "tests/sandbox/test_protocol.py::test_tensors_that_do_not_fit_their_bytes_are_refused"),
        Change(
            "a process can guess the number of the next request", "grader/sandbox/sandbox_client.py",
            "self._number = int.from_bytes(os.urandom(NUMBER_BYTES))", "self._number += 1",
            "tests/sandbox/test_client.py::test_a_reply_sent_before_its_request_is_refused"),
        Change(
            "what libraries do by themselves is an anomaly of the student", "grader/sandbox/audit_hook.py",
            "(event in DIRECT and file not in self.labels)", "False",
            "tests/sandbox/test_audit_hook.py::test_what_libraries_do_by_themselves_is_no_anomaly"),
        Change(
            "a line that is a Markdown fence could define anything", "grader/sandbox/failures.py",
            " and not KNOWN_LINES.match(self.detail)", "",
            "tests/sandbox/test_pieces.py::test_a_line_of_a_known_kind_could_define_nothing"),
        Change(
            "a student process keeps the server's open files", "grader/sandbox/fork_server.py",
            '    os.closerange(CHILD_DESCRIPTOR + 1, os.sysconf("SC_OPEN_MAX"))\n', "",
            "tests/sandbox/test_server.py::test_only_the_empty_input_the_output_and_the_connection_are_open"),
        Change(
            "an early definition that lacked a name replaces a later one", "grader/sandbox/loader.py",
            "is_there = any(name in self.module.__dict__ for name in piece.names)", "is_there = False",
            "tests/sandbox/test_loader.py::test_a_later_definition_of_the_same_name_is_kept"),
        Change(
            "an import in an unfinished merge runs though the sides differ", "grader/sandbox/pieces.py",
            "if all(len(meanings[name]) == 1 for", "if any(len(meanings[name]) for",
            "tests/sandbox/test_pieces.py::test_an_import_in_an_unfinished_merge_runs_if_both_sides_mean_the_same"),
        Change(
            "a progress bar gives none of its items", "grader/sandbox/preload.py",
            "        return iter(self.iterable)\n", "        return super().__iter__()\n",
            "tests/sandbox/test_import_stubs.py::test_a_progress_bar_yields_the_items_of_its_iterable"),
        Change(
            "printed text is kept without a limit", "grader/sandbox/processes.py",
            "text[: max(self._limit - self._kept[exercise], 0)]", "text",
            "tests/sandbox/test_client.py::test_output_is_kept_up_to_the_limit_and_the_rest_is_counted"),
        Change(
            "a reply may claim tensors of any size", "grader/sandbox/protocol.py",
            "    if tensor_bytes > MAX_TENSOR_BYTES:", "    if tensor_bytes > MAX_REQUEST_BYTES:",
            "tests/sandbox/test_protocol.py::test_claimed_sizes_beyond_the_limits_are_refused_before_anything_is_read"),
        Change(
            "a data loader with workers keeps its timeout, and fails", "grader/sandbox/replacements.py",
            '"num_workers", "timeout",', '"num_workers",',
            "tests/sandbox/test_server.py -k workers"),
        Change(
            "student code words a line of the audit log", "grader/sandbox/replies.py",
            "if anomaly.words in WORDS and sentence", "if sentence",
            "tests/sandbox/test_audit_hook.py::test_an_anomaly_is_one_short_line_of_a_known_kind"),
        Change(
            "functions that were replaced are not noticed", "grader/sandbox/serving.py",
            "                    watch.look()\n", "                    pass\n",
            "tests/sandbox/test_audit_hook.py::test_an_anomaly_is_reported"),
        Change(
            "a cell that begins with %%time is not run", "grader/sandbox/statements.py",
            'PYTHON_MAGICS = ("%%time", ', "PYTHON_MAGICS = (",
            "tests/sandbox/test_loader.py::test_magics_and_shell_lines_of_a_notebook_are_skipped"),
        Change(
            "a statement that failed in a function has the function's line", "grader/sandbox/units.py",
            "line = own or described.line or piece.line", "line = described.line or piece.line",
            "tests/sandbox/test_worker.py::"
            "test_a_failure_in_a_function_has_the_line_that_calls_it_and_those_that_led_there"),
        Change(
            "a substitute stays where the student defines nothing", "grader/sandbox/worker.py",
            "                names.pop(exercise, None)\n", "                pass\n",
            "tests/sandbox/test_worker.py::test_a_missing_name_is_defined_while_it_is_patched"),
    ],
    "engine": [
        Change(
            "a grading process that died is not tried again", "grader/engine/engine_client.py",
            'if isinstance(reply.result, str) and "fault" in retries:',
            'if isinstance(reply.result, str) and "fault" not in retries:',
            "tests/engine/test_engine.py::test_a_submission_whose_grading_process_dies_is_graded_once_more"),
        Change(
            "one submission more than --jobs allows is graded at once", "grader/engine/engine_client.py",
            "while len(self._running) >= self._at_once():", "while len(self._running) > self._at_once():",
            "tests/engine/test_engine_client.py::test_only_one_submission_is_taken_before_a_process_is_free"),
        Change(
            "a worker's result without all criteria becomes a grade", "grader/cluster/cluster_messages.py",
            "if len(names) != len(expected) or set(names) != expected:", "if not set(names) <= expected:",
            "tests/cluster/test_cluster_messages.py::test_a_result_of_another_form_is_refused"),
        Change(
            "grades are sent to other machines without encryption", "grader/cluster/connection.py",
            "if not address.is_encrypted and not address.is_of_this_machine:", "if not address.is_encrypted and False:",
            "tests/cluster/test_addresses.py::test_another_machine_without_tls_is_refused_with_the_command_for_certificates"),
        Change(
            "a busy machine costs a student time", "grader/sandbox/limits.py",
            "return max(passed - (self.clock.waited() - self.waited), passed * LEAST_COUNTED)",
            "return max(passed, passed * LEAST_COUNTED)",
            "tests/sandbox/test_clock.py::test_only_a_share_of_waiting_for_a_processor_is_charged"),
        Change(
            "a request that arrives in two parts loses the first", "grader/engine/grading_processes.py",
            "                pending += received\n", "                pending = bytearray(received)\n",
            "tests/engine/test_engine_client.py::test_large_submissions_and_large_results_do_not_block_each_other"),
        Change(
            "the criteria are not put in the order of the course", "grader/engine/plugin.py",
            "    items.sort(key=lambda item: order", "    sorted(items, key=lambda item: order",
            "tests/engine/test_engine_client.py::test_the_handshake_has_every_criterion_in_the_order_of_the_course"),
        Change(
            "an exercise waits for one that its own mistake has nothing to do with", "grader/engine/criteria.py",
            "not student.expected.issuperset(called))\n", "student.expected.issuperset(called))\n",
            "tests/engine/test_criteria.py::test_a_wrong_answer_is_wrong_with_substitutes_too"),
        Change(
            "a loop that can go past its `return` is blamed", "grader/engine/definition_hints.py",
            "            for node in loop.body:\n", "            for node in ast.walk(loop):\n",
            "tests/engine/test_explanations.py::test_a_failed_check_names_what_the_source_has_to_do_with_it"),
        Change(
            "an answer like several misconceptions gets all their names", "grader/engine/diagnosis.py",
            "return set.intersection(*fitting) if fitting", "return set.union(*fitting) if fitting",
            "tests/engine/test_diagnosis.py::test_an_answer_like_several_misconceptions_has_no_name"),
        Change(
            "half of a surrogate pair in a text ends the engine", "grader/engine/engine_messages.py",
            "json.dumps(message, default=vars)", "json.dumps(message, default=vars, ensure_ascii=False)",
            "tests/engine/test_engine_process.py::test_a_message_is_one_line_whatever_a_text_holds"),
        Change(
            "the process that was started early is left waiting, and another one is started",
            "grader/engine/engine_server.py",
            "return _early.pop() if _early else start_module(", "return start_module(",
            "tests/engine/test_engine_process.py::test_the_process_that_was_started_early_is_the_engine_s"),
        Change(
            "a student's own error text is answered as torch's", "grader/engine/error_hints.py",
            '    r"not compiled with', '    r"cuda|not compiled with',
            "tests/engine/test_explanations.py::test_the_advice_on_an_error_says_what_to_do"),
        Change(
            "an error in another exercise is blamed on this one", "grader/engine/explanations.py",
            "    if owner not in others:\n", "    if owner is not None:\n",
            "tests/engine/test_explanations.py::test_the_error_of_another_exercise_is_blamed_on_its_call_or_on_itself"),
        Change(
            "students can read the names of mistakes beside the visible tests", "grader/engine/failure_matrix.py",
            "text = mixed(json.dumps([one.name, one.sentence]).encode(), row)",
            "text = json.dumps([one.name, one.sentence]).encode()",
            "tests/engine/test_signatures.py::test_names_and_sentences_cannot_be_read_without_the_signature"),
        Change(
            "student code is graded where nothing isolates it", "grader/engine/grading.py",
            "if missing and not self.allow_unisolated:", "if missing and self.allow_unisolated:",
            "tests/cli/test_instructor.py::test_without_isolation_nothing_is_graded_and_the_fix_is_named"),
        Change(
            "a letter of another alphabet is taken for another Latin one", "grader/engine/name_hints.py",
            '"aceopxyijsdhABC', '"aocepxyijsdhABC',
            "tests/engine/test_characters.py"),
        Change(
            "a name that each Python has is said to need a newer one", "grader/engine/newer_python.py",
            '"copy.replace math.fma', '"copy.replace math.cbrt math.fma',
            "tests/engine/test_newer_python.py::test_a_name_of_a_newer_standard_library_is_named_with_its_version"),
        Change(
            "a fault of the grader costs a point", "grader/engine/outcomes.py",
            "        case InternalError():\n            raise error\n", "",
            "tests/engine/test_criteria.py::test_what_the_grader_lacks_is_no_outcome"),
        Change(
            "a test that the solution fails costs a point", "grader/engine/runner.py",
            "            require_proof(self._course, [criterion])\n", "            pass\n",
            "tests/engine/test_suite_faults.py::test_a_changed_test_that_the_solution_fails_is_no_grade"),
        Change(
            "a line that a student process makes up shows another one", "grader/engine/source_lines.py",
            "if 0 < number <= len(self.lines)", "if number <= len(self.lines)",
            "tests/engine/test_explanations.py::test_the_lines_that_led_to_an_error_have_the_text_of_the_submission"),
        Change(
            "a product in the wrong order is suggested", "grader/engine/tensor_hints.py",
            "self.sizes[-1] == other.sizes[0]", "self.sizes[0] == other.sizes[-1]",
            "tests/engine/test_hints_for_mistakes.py::test_a_product_or_a_transpose_that_fits_is_named"),
        Change(
            "an error in pytest shows the grader's code, not the student's line", "grader/engine/visible.py",
            "return error.with_traceback(following) if following else error", "return error",
            "tests/course/test_exercises.py::test_an_error_shows_the_way_from_the_test_to_the_students_line"),
        Change(
            "a visible test may name a rule that its exercise has not", "grader/engine/visible_files.py",
            "            if rule not in found[criterion.exercise]:", "            if rule not in criterion.rules:",
            "tests/engine/test_visible_files.py::test_build_refuses_a_visible_test_that_is_wrong"),
    ],
    "cluster": [
        Change(
            "of students who handed in the same only the first has a report", "grader/cluster/cluster_client.py",
            "for one in (submission, *submission.copies):", "for one in (submission,):",
            "tests/cluster/test_cluster.py::test_everybody_who_handed_in_the_same_gets_the_result"),
        Change(
            "an error of a worker reaches the sender as a pickle", "grader/cluster/cluster_worker.py",
            '        return _not_graded("failed", f"{type(error).__name__}: {error}")', "        raise",
            "tests/cluster/test_cluster_worker.py::test_an_error_of_a_worker_is_an_answer_with_its_process"),
    ],
    "scoring and report": [
        Change(
            "a criterion earns one point whatever its weight", "grader/reports/scoring.py",
            'points=weight if outcome.passed else 0,', 'points=1 if outcome.passed else 0,',
            "tests/reports/test_scoring.py::test_each_criterion_earns_the_weight_or_nothing_and_the_sums_are_right"),
        Change(
            "a criterion without an outcome passes", "grader/reports/scoring.py",
            'Judged(unit, name, "", False, handed_in', 'Judged(unit, name, "", True, handed_in',
            "tests/reports/test_scoring.py::test_a_criterion_without_an_outcome_fails"),
        Change(
            "a quiz is marked before its due date", "grader/reports/scoring.py",
            "isinstance(quiz, QuizSource) and self.dated.is_over(unit, self.now) else None",
            "isinstance(quiz, QuizSource) else None",
            "tests/reports/test_scoring.py::test_until_the_due_date_right_and_wrong_answers_give_the_same_report"),
        Change(
            "the level `points` shows what was expected", "grader/reports/scoring.py",
            'sentence=criterion.sentence if has_text else None,', 'sentence=criterion.sentence,',
            "tests/reports/test_scoring.py::test_each_level_says_more_and_changes_no_point"),
        Change(
            "a report is kept though the grader has changed", "grader/reports/fingerprint.py",
            "    total.update(grader_digest(course, suites))\n",
            "    total.copy().update(grader_digest(course, suites))\n",
            "tests/reports/test_scoring.py::test_the_digest_changes_with_the_course_the_suites_and_the_grader"),
        Change(
            "a test without points does not have to pass", "grader/reports/reading.py",
            'if all(test.outcome == "passed" for test in self.exercise.tests):  # even',
            "if self.exercise.points == self.exercise.possible:  # even",
            "tests/reports/test_reading.py::test_an_exercise_is_done_if_every_test_passed"),
        Change(
            "an exempt unit counts", "grader/reports/report_model.py",
            "counted = [unit for unit in units.values() if not unit.exempt]", "counted = [*units.values()]",
            "tests/classes/test_decisions.py::test_an_exempt_unit_does_not_count"),
        Change(
            "why a student was not graded is forgotten by the next grading", "grader/reports/folder.py",
            "for student, why in {**before, **reasons}.items()", "for student, why in reasons.items()",
            "tests/classes/test_gradebook.py::test_why_somebody_was_not_graded_stays_until_there_is_a_report"),
        Change(
            "the student's file is written though the instructor's cannot be", "grader/reports/folder.py",
            "    instructor.mkdir(parents=True, exist_ok=True)\n    if pytest_report is not None:\n",
            "    write_atomically(directory / f'{report.student}.json', report.to_json())\n"
            "    instructor.mkdir(parents=True, exist_ok=True)\n    if pytest_report is not None:\n",
            "tests/reports/test_report.py"
            "::test_if_the_instructors_file_cannot_be_written_the_students_is_not_written"),
    ],
    "classes": [
        Change(
            "an extension does not move the date from which the quiz counts", "grader/classes/batch.py",
            "due=due", "due={}",
            "tests/classes/test_class.py::test_an_extension_also_moves_the_date_from_which_the_quiz_counts"),
        Change(
            "a percent is rounded to the nearest hundredth", "grader/classes/exports.py",
            "return math.floor(Fraction(points, possible) * 10000) / 100",
            "return round(Fraction(points, possible) * 10000) / 100",
            "tests/classes/test_exports.py::test_percents_are_rounded_down_and_a_total_leaves_out_what_does_not_count"),
        Change(
            "a spreadsheet computes a student's name", "grader/classes/exports.py",
            """return f"'{value}" if is_formula else value""", "return value",
            "tests/classes/test_exports.py::test_no_text_is_a_formula_or_markup"),
        Change(
            "a report by the visible tests is a grade", "grader/classes/gradebook.py",
            'if report.suites != "hidden":', 'if report.suites == "":',
            "tests/classes/test_class_summary.py::test_the_header_counts_who_handed_in_and_who_did_not"),
        Change(
            "the stub counts as a student's own code", "grader/classes/originality.py",
            "not in ([], untouched)", "not in ([],)",
            "tests/classes/test_originality.py::test_the_code_of_each_student_is_exported_and_none_is_run"),
        Change(
            "of a time that clocks showed twice, one is taken", "grader/classes/times.py",
            "student, instants[0] if len(instants) == 1 else None)", "student, instants[0] if instants else None)",
            "tests/classes/test_decisions.py"
            "::test_a_time_that_clocks_showed_twice_is_unknown_and_one_that_they_never_showed_is_refused"),
        Change(
            "a student who also teaches is not in the class", "grader/classes/roster.py",
            "(roles := _roles(row)) and roles <= _STAFF]", "(roles := _roles(row)) and roles & _STAFF]",
            "tests/classes/test_exported_roster.py"
            "::test_teachers_and_assistants_are_left_out_and_named_unless_they_are_students_too"),
        Change(
            "a student of the class who is not graded is no open case", "grader/classes/open_cases.py",
            "rows = gradebook.rows if kind == NOT_GRADED else", "rows = gradebook.strangers if kind == NOT_GRADED else",
            "tests/classes/test_gradebook.py::test_the_open_cases_are_one_list"),
        Change(
            "a report without the quiz is sent after the due date", "grader/classes/record.py",
            "return quiz is None or ((quiz.points is not None) == is_over and", "return quiz is None or (",
            "tests/classes/test_class_feedback.py"
            "::test_a_report_from_before_the_due_date_is_refused_if_only_the_quiz_would_differ"),
        Change(
            "a report on another commit than the collected one is a grade", "grader/classes/record.py",
            "if work.of(found.commit) is None:", "if found.commit is None:",
            "tests/classes/test_record.py::test_a_report_on_another_commit_is_not_a_grade"),
        Change(
            "of several submissions, the worst counts", "grader/classes/work.py",
            "best = max(ranks)", "best = min(ranks)",
            "tests/classes/test_work.py"
            "::test_of_several_submissions_the_one_with_most_points_counts_or_the_last_whose_time_is_known"),
        Change(
            "quartiles leave the ends out", "grader/classes/statistics.py",
            'method="inclusive"', 'method="exclusive"',
            "tests/classes/test_class_statistics.py::test_quartiles_are_those_of_numpy"),
        Change(
            "a value beyond the last column is dropped", "grader/classes/tables.py",
            "if any(cells[len(columns) :]):", "if any(cells[len(columns) + 1 :]):",
            "tests/classes/test_roster.py::test_each_problem_is_reported_with_its_line_and_column"),
        Change(
            "a report by other hidden tests is a grade", "grader/classes/differences.py",
            "if unit.tests not in (UNKNOWN, tests):", "if unit.tests == UNKNOWN != tests:",
            "tests/classes/test_gradebook.py::test_a_report_by_other_hidden_tests_or_quiz_answers_is_no_grade"),
        Change(
            "a deleted branch still holds a commit", "grader/classes/collected.py",
            'return not self.after.strip("0")', "return not self.after",
            "tests/classes/test_collected.py::test_a_branch_is_created_from_nothing_and_deleted_to_nothing"),
        Change(
            "a submission that fits two students is graded for both", "grader/classes/hand_ins.py",
            "        if len(fitting) > 1:\n            result.refuse",
            "        if len(fitting) > 2:\n            result.refuse",
            "tests/classes/test_hand_ins.py"
            "::test_who_may_have_made_a_submission_that_is_not_graded_has_not_handed_in_nothing"),
        Change(
            "a file that a student wrote makes the times of all others unknown", "grader/classes/dating.py",
            "if sum(stamp is not None for stamp in stamps) * 2 > len(trees):", "if any(stamps):",
            "tests/classes/test_dating.py::test_a_file_of_a_student_is_not_taken_for_the_times_of_the_others"),
        Change(
            "points are rounded to the nearest", "grader/classes/decisions.py",
            "points = math.floor(earned + sum(", "points = round(earned + sum(",
            "tests/classes/test_decisions.py::test_half_a_point_is_rounded_down"),
        Change(
            "a deduction counts twice if its comments differ", "grader/classes/decisions.py",
            "seen.setdefault((*adjustment[:3], name) if name else adjustment, row.line)",
            "seen.setdefault(adjustment, row.line)",
            "tests/classes/test_decisions.py::test_a_deduction_is_used_as_the_rubric_has_it"),
        Change(
            "who has a longer name is removed too", "grader/classes/forget.py",
            "return name.casefold() == self.student.casefold()",
            "return name.casefold().startswith(self.student.casefold())",
            "tests/classes/test_forget.py"
            "::test_a_student_is_removed_from_what_the_grader_wrote_and_from_the_tables_and_no_other_one"),
        Change(
            "a platform's number of a submission is taken for a student's", "grader/classes/matcher.py",
            "return (fitting if fitting[0] in named else [*fitting, *named]), rule", "return fitting, rule",
            "tests/classes/test_matcher.py"
            "::test_of_several_students_who_fit_the_one_who_fits_best_or_all_are_named"),
        Change(
            "who handed in nothing is not in the distribution", "grader/classes/summary_page.py",
            "bins=list(zip(histogram(percents), histogram(summary.totals),",
            "bins=list(zip(histogram(percents), histogram(percents),",
            "tests/classes/test_class_summary.py::test_the_distribution_has_its_numbers_in_words"),
    ],
    "reading submissions": [
        Change(
            "hard links are read", "grader/submissions/tree.py",
            "    if status.st_nlink > 1:", "    if status.st_nlink > 2:",
            "tests/submissions/test_plain_files.py::test_a_hard_link_is_not_read"),
        Change(
            "a symbolic link in place of a file is followed", "grader/submissions/tree.py",
            '(os.stat(f"{reached}{name}", dir_fd=here, follow_symlinks=False), relative)',
            '(os.stat(f"{reached}{name}", dir_fd=here), relative)',
            "tests/submissions/test_plain_files.py::test_a_symbolic_link_is_not_followed"),
        Change(
            "a student's name may go on with any characters", "grader/submissions/submission.py",
            "if not STUDENT.fullmatch(student):", "if not STUDENT.match(student):",
            "tests/submissions/test_layouts.py::test_the_name_of_a_student_that_the_user_gives_must_be_valid"),
        Change(
            "a name that leads out of an archive is read", "grader/submissions/archives.py",
            'or ".." in parts or', "or",
            "tests/submissions/test_archives.py::test_a_name_that_leads_out_of_an_archive_is_refused_by_name"),
        Change(
            "the first of several layouts that fit is used", "grader/submissions/find.py",
            "if len(fitting) != 1:", "if not fitting:",
            "tests/submissions/test_layouts.py"
            "::test_an_unclear_layout_is_refused_until_one_is_named"),
        Change(
            "the untouched stub is graded, not the answers", "grader/submissions/candidates.py",
            "lines not in self._untouched)", "lines in self._untouched)",
            "tests/submissions/test_submission.py::test_of_several_files_the_one_with_answers_is_graded"),
        Change(
            "a reference leads out of .git", "grader/submissions/reader.py",
            'not {"", ".", ".."}.isdisjoint(', 'not {"", "."}.isdisjoint(',
            "tests/submissions/test_submission.py::test_a_malformed_head_is_not_a_commit"),
        Change(
            "a file with a name of the course's is not an answer whatever it holds", "grader/submissions/contents.py",
            "any(_words(path) == text.split() for path in self.get(name, ()))", "name in self",
            "tests/submissions/test_wrong_files.py::"
            "test_a_file_that_is_no_answer_is_named_with_what_to_do"),
        Change(
            "of a script with a fence in a string only the string is graded", "grader/submissions/file_text.py",
            " or len(_CODE.findall(chunks)) < len(_CODE.findall(read.text)):", ":",
            "tests/submissions/test_kinds.py::test_a_script_with_fences_is_no_document"),
        Change(
            "a byte order mark stays in the code", "grader/submissions/file_text.py",
            '.decode(encoding).removeprefix("\\ufeff")', ".decode(encoding)",
            "tests/submissions/test_plain_files.py"
            "::test_a_byte_order_mark_is_removed_and_line_ends_become_newlines"),
        Change(
            "of a group in Gradescope only the first gets a grade", "grader/submissions/layouts.py",
            "for name, email, sid in people:", "for name, email, sid in people[:1]:",
            "tests/submissions/test_layouts.py::test_a_submission_has_its_place_and_gradescopes_time"),
        Change(
            "of a cell with a conflict one version is graded", "grader/submissions/notebook.py",
            '        cells[number] = {"cell_type": "code", "source": ""}\n', "        pass\n",
            "tests/submissions/test_notebook.py"
            "::test_cells_that_differ_in_a_conflict_are_lost_and_the_others_are_read"),
        Change(
            "an answer that a keypress made a text cell is not graded", "grader/submissions/notebook.py",
            "return is_text and not _is_answer(cell)", "return is_text",
            "tests/submissions/test_notebook.py::test_an_answer_that_became_a_text_cell_in_jupyter_is_read"),
    ],
    "course and practice": [
        Change(
            "hints stay in the stub", "grader/course/build.py",
            "if guidance.HINTS_TAG not in cell.metadata", "if True or guidance.HINTS_TAG not in cell.metadata",
            "tests/course/test_build.py::test_hints_are_taken_out_of_the_stub_and_written_to_a_file_of_their_own"),
        Change(
            "a changed hidden test leaves what was built as it is", "grader/course/generated.py",
            '            (self.suites, self.suites.rglob("*.py")),\n', "",
            "tests/course/test_generated.py::test_what_is_missing_changed_or_outdated_is_built_before_it_is_read"),
        Change(
            "hints in another order than their levels are accepted", "grader/course/guidance.py",
            " and int(found[1]) == len(items) + 1:", ":",
            "tests/course/test_build.py::test_malformed_hints_are_refused_with_their_line"),
        Change(
            "a stub imports what its unit no longer defines", "grader/course/left_out.py",
            " or alias.name in missing[node.module]\n", "\n",
            "tests/course/test_build.py::test_imports_of_what_is_left_out_are_removed"),
        Change(
            "work that arrives at the due time is late", "grader/course/model.py",
            "return now > self.units[unit_name].due", "return now >= self.units[unit_name].due",
            "tests/course/test_course.py::test_the_due_time_itself_is_not_late"),
        Change(
            "an author's error has the line of the call, not of the mistake", "grader/course/modules.py",
            "theirs[-1] if theirs", "theirs[0] if theirs",
            "tests/course/test_author_files.py::test_an_error_has_the_innermost_of_the_authors_lines"),
        Change(
            "a student's repository is a course once solutions are published", "grader/course/root.py",
            " and not (texts and all(map(is_published, texts)))", "",
            "tests/practice/test_published.py::"
            "test_a_repository_with_published_solutions_is_not_taken_for_a_course_of_an_instructor"),
        Change(
            "published solutions are taken for a student's answers", "grader/practice/check.py",
            'return path.is_file() and not is_published(path.read_text(encoding="utf-8", errors="replace"))',
            "return path.is_file()",
            "tests/practice/test_published.py::"
            "test_inside_the_folder_of_published_solutions_the_answers_are_still_the_students"),
        Change(
            "a reset changes the first of several definitions, which counts for nothing",
            "grader/practice/exercise_code.py",
            "    node = found[-1]\n", "    node = found[0]\n",
            "tests/practice/test_reset.py::test_the_last_of_several_definitions_is_the_one_that_counts"),
        Change(
            "a number that is rounded like the question asks is wrong", "grader/practice/exercise_help.py",
            "<= 0.51 * 10", "<= 0.051 * 10",
            "tests/practice/test_own_questions.py::test_an_answer_is_right_if_it_is_what_the_code_gave"),
        Change(
            "a picture shows a student's text as HTML", "grader/practice/picture_files.py",
            "{escape(shape.text)}", "{shape.text}",
            "tests/practice/test_show.py::test_the_svg_says_in_words_what_it_shows_and_has_the_colours_of_its_page"),
        Change(
            "a terminal without colours does not mark wrong cells", "grader/practice/picture_text.py",
            "{MARK if is_wrong else ' '}\"\n            line.append(shown", '"\n            line.append(shown',
            "tests/practice/test_show.py::test_a_plain_terminal_of_80_columns_marks_wrong_cells_by_a_character"),
        Change(
            "an exercise passes that was changed after its check", "grader/practice/progress.py",
            ' or known.get("code") != code.digest(exercise)', "",
            "tests/practice/test_progress.py::test_a_check_is_remembered_until_the_code_or_what_it_uses_is_changed"),
        Change(
            "other users can read the key of the spare process", "grader/practice/spare.py",
            "0o600", "0o644",
            "tests/practice/test_spare.py::test_it_serves_one_message_in_a_folder_that_nobody_needs_and_ends"),
        Change(
            "a backup replaces an earlier one", "grader/practice/student_files.py",
            'backup.open("xb")', 'backup.open("wb")',
            "tests/practice/test_reset.py::test_no_backup_is_overwritten"),
        Change(
            "a solution without a rule gives a suite without a test", "grader/course/new/from_solution.py",
            "if not (rules := [*_rules(stated_rules(docstring))]):",
            "if (rules := [*_rules(stated_rules(docstring))]) is None:",
            "tests/course/test_new.py::test_a_solution_that_does_not_say_enough_is_refused_with_its_line"),
        Change(
            "a new exercise has the name of another but for upper case", "grader/course/new/__init__.py",
            "    if name.casefold() in map(str.casefold, known):", "    if name in known:",
            "tests/course/test_new.py::test_an_invalid_or_used_name_is_refused_and_nothing_is_written"),
    ],
    "suites": [
        Change(
            "values that are far off are close (always passes)", "grader/testing/properties.py",
            "RELATIVE, ABSOLUTE, WIDE = 1e-4, 1e-5, 1e-3", "RELATIVE, ABSOLUTE, WIDE = 1e4, 1e-5, 1e-3",
            "tests/testing/test_checks.py::test_wrong_values_are_described_in_a_sentence"),
        Change(
            "any count of draws passes (always passes)", "grader/testing/draws.py",
            "probability * count) <= 3 * math.sqrt(count), reason)", "probability * count) <= 3 * count, reason)",
            "tests/testing/test_draws.py::test_a_count_may_be_off_by_three_times_the_root_of_all"),
        Change(
            "an error has to be of every allowed type (never passes)", "grader/testing/checks.py",
            "if not REFUSALS & set(types):", "if not REFUSALS <= set(types):",
            "tests/testing/test_checks.py::test_an_allowed_error_passes"),
        Change(
            "the expected encoding has a wrong exponent (never passes)",
            "grader/suites/positional_encoding/shared.py",
            "torch.logspace(0, 8 / d_model - 4, d_model // 2", "torch.logspace(0, 8 / d_model - 3, d_model // 2",
            "tests/suites/test_suites.py::test_the_solution_earns_every_criterion[positional_encoding]"),
        Change(
            "a wrong bias costs three points instead of one",
            "grader/suites/positional_encoding/linear_as_matmul.py",
            "abs(), torch.zeros(K, dtype=dtype)", "abs(), fresh(K, dtype=dtype)",
            "tests/suites/test_failures.py::test_each_misconception_fails_the_criteria_of_its_line[positional_encoding]"),
        Change(
            "a student's contexts are compared with themselves (always passes)",
            "grader/suites/simple_attention/simple_self_attention.py",
            'expect_close(contexts, self_attention_of(student)(inputs)[0], "The contexts")',
            'expect_close(contexts, contexts, "The contexts")',
            "tests/suites/test_junk.py::test_junk_of_the_right_shape_earns_nothing"),
        Change(
            "an answer that mixes the elements of a batch keeps the rule (always passes)",
            "grader/testing/contracts.py",
            "        expected = [each[n : n + 1] for each in together]\n", "        expected = alone\n",
            "tests/testing/test_contracts.py::"
            "test_a_right_answer_keeps_a_contract_and_a_wrong_one_reads_why_it_does_not"),
        Change(
            "a picture shows NaN beside NaN as wrong", "grader/testing/drawings.py",
            "or (a != a and b != b) or", "or",
            "tests/testing/test_pictures.py::test_numbers_that_differ_by_rounding_and_nan_beside_nan_are_not_wrong"),
        Change(
            "a mistake changes more places of a solution than its author knows of", "grader/testing/misconceptions.py",
            "            if text.count(old) != times:", "            if text.count(old) < times:",
            "tests/testing/test_misconceptions.py::test_a_text_with_another_number_of_occurrences_is_refused"),
        Change(
            "a second run with substitutes empties a picture", "grader/testing/pictures.py",
            "self.panels[panel.name].shape is None:", "panel.shape is None:",
            "tests/testing/test_pictures.py::test_a_picture_that_runs_again_keeps_what_it_has_drawn"),
        Change(
            "a contract compares the arguments with themselves (always passes)", "grader/testing/suite.py",
            "expect_same(found, old, reason)", "expect_same(old, old, reason)",
            "tests/testing/test_suite.py::test_a_wrong_answer_fails_with_its_reason"),
        Change(
            "a later token may have influence (always passes)", "grader/testing/behaviour.py",
            "not bool((changed & ~allowed)[1, ..., :-1].any())", "True",
            "tests/testing/test_suite.py::test_a_wrong_answer_fails_with_its_reason"),
        Change(
            "a visible test that is data takes any dtype", "grader/testing/visible_contracts.py",
            'keeps=example["keeps_dtype"]', "keeps=False",
            "tests/testing/test_visible_contracts.py::test_a_wrong_answer_fails_the_check_of_its_rule"),
        Change(
            "the probe of a contract keeps the sizes of its criteria", "grader/testing/probes.py",
            "if type(parameter.default) is int]", "if type(parameter.default) is bool]",
            "tests/audit/test_derived.py::test_the_probe_of_a_contract_sees_what_its_criteria_do_not"),
        Change(
            "a probe takes a result of another shape for the right one", "grader/testing/probes.py",
            "        if not isinstance(found, Tensor) or found.shape != right.shape:",
            "        if not isinstance(found, Tensor):",
            "tests/audit/test_equivalence.py::test_these_are_not_alike"),
        Change(
            "a comparison shows what is right in place of what is wrong", "grader/testing/running_test.py",
            "wrong = (~close).nonzero()", "wrong = close.nonzero()",
            "tests/testing/test_differences.py::test_the_wrong_part_is_shown"),
        Change(
            "tests that draw with other arguments share the draws", "grader/testing/student.py",
            "draws, calls = self._backend.draws, (self._target, times, arguments)",
            "draws, calls = self._backend.draws, (self._target, times)",
            "tests/testing/test_student.py::test_draws_are_made_once_for_all_who_ask_for_the_same"),
        Change(
            "the substitutes of later units are not sent whole", "grader/testing/substitutes.py",
            "len(self._lines) + (node.end_lineno or 0)", "(node.end_lineno or 0)",
            "tests/engine/test_visible_substitutes.py::"
            "test_what_students_receive_of_the_substitutes_holds_no_line_of_a_solution"),
    ],
    "release and leak scan": [
        Change(
            "the suites of the units are not secret", "grader/integrations/release/secrets.py",
            'course.suites.rglob("*.py")', 'course.suites.glob("*.py")',
            "tests/integrations/release/test_leaks.py::test_a_secret_is_found_in_every_wrapping"),
        Change(
            "a file that is no text is released by its name", "grader/integrations/release/leaks.py",
            "if place.endswith(SEARCHED) and not _BINARY.search(content):", "if place.endswith(SEARCHED):",
            "tests/integrations/release/test_leaks.py::test_a_file_that_cannot_be_searched_is_refused_by_name"),
        Change(
            "the history in .git is not scanned", "grader/integrations/release/leaks.py",
            '"cat-file", "--batch-all-objects", "--batch"', '"cat-file", "--batch"',
            "tests/integrations/release/test_leaks.py::test_a_secret_is_found_in_every_wrapping"),
        Change(
            "the students' wheel contains the suites", "grader/integrations/release/wheel.py",
            'INSTRUCTORS = ("course/new", "suites", ', 'INSTRUCTORS = ("course/new", ',
            "tests/integrations/release/test_wheel.py"
            "::test_it_holds_no_hidden_test_no_solution_and_nothing_of_the_instructors"),
        Change(
            "only the first line of a solution is secret", "grader/integrations/release/secrets.py",
            "is_solution = (is_solution or BEGIN_SOLUTION in line) and END_SOLUTION not in line",
            "is_solution = BEGIN_SOLUTION in line and END_SOLUTION not in line",
            "tests/integrations/release/test_leaks.py::test_the_secrets_are_all_solutions_and_answers"),
        Change(
            "solutions are published before the due date", "grader/integrations/release/folder_releases.py",
            "        if not course.is_over(unit, now):\n", "        if course.is_over(unit, now):\n",
            "tests/practice/test_published.py::test_before_the_due_date_nothing_is_published_and_the_date_is_named"),
    ],
    "GitHub": [
        Change(
            "a comment that GitHub may have posted is posted again", "grader/integrations/github/api.py",
            "_REFUSED if once else _TRANSIENT", "_TRANSIENT",
            "tests/integrations/github/test_api.py::test_what_github_may_have_done_is_sent_again_only_after_a_refusal"),
        Change(
            "work of a student with an extension is taken as of everybody's due date",
            "grader/integrations/github/collect.py",
            "due = {unit: extended.get(unit, time) for unit, time in self.units.items()}", "due = dict(self.units)",
            "tests/integrations/github/test_collect.py::"
            "test_a_push_in_the_grace_period_or_before_the_end_of_an_extension_is_in_time"),
        Change(
            "the status of one member of a group replaces another's", "grader/integrations/github/delivery.py",
            "{f'/{student}' if grade.is_shared else ''}", "",
            "tests/integrations/github/test_status.py::test_each_member_of_a_group_has_a_status_on_the_commit"),
        Change(
            "a file that is too large for the grader is written in full",
            "grader/integrations/github/git_repositories.py",
            "elif size <= FILE_LIMIT and total + size <= TOTAL_LIMIT:", "elif total + size <= TOTAL_LIMIT:",
            "tests/integrations/github/test_checkout.py::test_a_huge_file_keeps_its_size_without_content"),
        Change(
            "an update replaces a student's answers", "grader/integrations/github/github_release.py",
            "if path in of_students and not place.is_untouched():", "if path in () and not place.is_untouched():",
            "tests/integrations/github/test_release_github.py::test_a_students_work_is_unchanged_and_not_committed"),
        Change(
            "a push in the last second is late", "grader/integrations/github/history.py",
            "last = next((push for push in own if push.at <= time), None)",
            "last = next((push for push in own if push.at < time), None)",
            "tests/integrations/github/test_collect.py::test_the_last_push_before_the_due_date_counts"),
    ],
    "nbgrader": [
        Change(
            "late work also costs a part of an adjustment", "grader/integrations/nbgrader/nbgrader_gradebook.py",
            "math.floor(earned * (100 - percent) / 100 + extra)",
            "math.floor((earned + extra) * (100 - percent) / 100)",
            "tests/integrations/nbgrader/test_nbgrader_decisions.py::"
            "test_autograde_gives_the_points_of_reports_and_everybody_a_row"),
        Change(
            "a release replaces what an instructor has edited", "grader/integrations/nbgrader/notebook_merge.py",
            "if base is not None and content(own) == content(base):", "if base is not None:",
            "tests/integrations/nbgrader/test_merge.py::test_a_text_that_both_changed_is_the_instructors_and_is_named"),
        Change(
            "the notebook before a release is not kept", "grader/integrations/nbgrader/nbgrader_release.py",
            "write_atomically(kept, self._path.read_bytes())", "write_atomically(kept, b'')",
            "tests/integrations/nbgrader/test_nbgrader_update.py::"
            "test_new_points_are_written_beside_a_note_and_the_old_notebook_is_kept"),
        Change(
            "HTML in a student's prose stays on the page", "grader/integrations/nbgrader/repair.py",
            '_LINK.sub("] ", _TAG.sub("< ", source))', '_LINK.sub("] ", source)',
            "tests/integrations/nbgrader/test_repair.py::test_prose_of_a_student_is_plain_text_on_nbgraders_pages"),
        Change(
            "a cell's grade_id counts more than the name that it defines", "grader/integrations/nbgrader/repair.py",
            "rank = (_lines(theirs) in untouched, not defines, not has_id, -index, number)",
            "rank = (_lines(theirs) in untouched, not has_id, not defines, -index, number)",
            "tests/integrations/nbgrader/test_repair.py::test_swapped_grade_ids_do_not_swap_the_answers"),
        Change(
            "a solution inside another is cleared without an error", "grader/integrations/nbgrader/generating.py",
            "(?:(?!.*{begin}).*\\n)*?", "(?:.*\\n)*?",
            "tests/integrations/nbgrader/test_plugins.py::test_wrong_markers_are_an_error"),
        Change(
            "many cells may hold more than the limit together", "grader/integrations/nbgrader/nbgrader_reading.py",
            "        room[kind] -= len(source)\n", "        room[kind] -= 0\n",
            "tests/integrations/nbgrader/test_nbgrader_reading.py::test_cells_beyond_the_limit_for_all_cells_are_left_out"),
        Change(
            "a damaged notebook is not collected", "grader/integrations/nbgrader/nbgrader_reading.py",
            'chosen.own_paths or ({f"{unit}.ipynb": notebooks[0]} if len(notebooks) == 1 else {})', "chosen.own_paths",
            "tests/integrations/nbgrader/test_collecting.py::"
            "test_each_student_has_the_file_that_is_graded_under_its_right_name"),
        Change(
            "before the due date each item of a quiz counts as failed",
            "grader/integrations/nbgrader/nbgrader_gradebook.py",
            "grade.auto_score = None", "grade.auto_score = 0",
            "tests/integrations/nbgrader/test_nbgrader_grading.py::"
            "test_until_the_due_date_only_exercises_fail_and_nothing_waits_to_be_graded_by_hand"),
        Change(
            "a page shows at each exercise what all of them printed",
            "grader/integrations/nbgrader/nbgrader_grading.py",
            "if (message.unit, message.exercise) == (unit, name))", "if message.unit == unit)",
            "tests/integrations/nbgrader/test_feedback.py::"
            "test_the_output_of_the_students_code_is_shown_at_its_exercise"),
        Change(
            "nbgrader's pages show the notebook as the student changed it",
            "grader/integrations/nbgrader/__init__.py",
            'f"{ours}.repair.RepairSubmission"', 'f"{theirs}.ClearOutput"',
            "tests/integrations/nbgrader/test_nbgrader_reading.py::"
            "test_notebooks_of_all_programs_are_read"),
    ],
    "quizzes and exports": [
        Change(
            "an item can earn less than zero points", "grader/quizzes/items.py",
            "floor(max(Fraction(0), share) * item.points", "floor(share * item.points",
            "tests/quizzes/test_marking.py"),
        Change(
            "a number that is exactly right, or off by the tolerance, is wrong", "grader/quizzes/items.py",
            "abs(given - exact(value)) <= item.tolerance", "abs(given - exact(value)) < item.tolerance",
            "tests/quizzes/test_marking.py"),
        Change(
            "a letter that is given twice earns its share twice", "grader/quizzes/answers.py",
            "return tuple(sorted(set(letters)))", "return tuple(sorted(letters))",
            "tests/quizzes/test_answers.py::test_several_choices_take_letters_in_any_order"),
        Change(
            "half of the last decimal is rounded down", "grader/quizzes/arithmetic.py",
            "10**decimals + Fraction(1, 2))", "10**decimals)",
            "tests/quizzes/test_arithmetic.py"),
        Change(
            "a part of the right choices is called right in practice", "grader/quizzes/practice_items.py",
            "is_right = marked.points == item.points", "is_right = marked.points > 0",
            "tests/quizzes/test_practice.py::test_a_part_of_the_choices_is_not_right"),
        Change(
            "a fraction whose parts are sums is shown without brackets", "grader/quizzes/questions.py",
            'return f"{_bracketed(above)} / {_bracketed(below)}"', 'return f"{above} / {below}"',
            "tests/quizzes/test_formulas.py::test_a_formula_can_be_read_in_one_line"),
        Change(
            "a sheet with answers and no variant is replaced by a blank one", "grader/quizzes/quiz_terminal.py",
            'self._text().removeprefix("\\ufeff").split() in ([], received)', "self.read().variant == 0",
            "tests/quizzes/test_terminal.py::test_a_sheet_with_answers_and_no_variant_gets_none"),
        Change(
            "notes below a heading of their own belong to the item above", "grader/quizzes/sheet.py",
            "if name is not None:", "if name in self.questions.items:",
            "tests/quizzes/test_sheet.py"
            "::test_an_answer_below_an_unknown_heading_does_not_belong_to_the_item_above"),
        Change(
            "the first of two answers in a notebook counts", "grader/quizzes/sheet_reader.py",
            "for answer in reversed(assigned):", "for answer in assigned:",
            "tests/quizzes/test_cells.py::test_the_last_answer_that_is_not_blank_counts"),
        Change(
            "a box with a Cyrillic letter that looks like an x is not read", "grader/quizzes/sheet_reader.py",
            '"\\u0445χ×✕✖⨉⨯"', '"χ×✕✖⨉⨯"',
            "tests/quizzes/test_sheet.py::test_usual_changes_by_editors_and_students_do_not_matter"),
        Change(
            "a graded item can be a practice item too", "grader/quizzes/quiz_source.py",
            "        if key in graded", "        if key in ()",
            "tests/quizzes/test_practice.py"),
        Change(
            "the practice page marks a number off by the tolerance as wrong", "grader/quizzes/page.js",
            "* denominator <= numerator", "* denominator < numerator",
            "tests/quizzes/test_practice_page.py"),
        Change(
            "a comma begins another property of an annotation", "grader/reports/exporters/job_summary.py",
            '.replace(":", "%3A").replace(",", "%2C")', '.replace(":", "%3A")',
            "tests/reports/exporters/test_escape.py"),
        Change(
            "a page shows a student's text as HTML", "grader/reports/exporters/html.py",
            "autoescape=True", "autoescape=False",
            "tests/reports/exporters/test_hostile_text.py"),
        Change(
            "a page that is read on paper keeps its folds", "grader/reports/exporters/page.css",
            "  ::details-content { content-visibility: visible; }\n", "",
            "tests/reports/exporters/test_html.py::test_on_paper_everything_is_unfolded"),
        Change(
            "a formula can have links and styles", "grader/reports/exporters/html.py",
            " if name in _ATTRIBUTES}", "}",
            "tests/reports/exporters/test_course_text.py"),
        Change(
            "Gradescope shows partial points as passed", "grader/reports/exporters/autograder_results.py",
            '"status": "passed" if passed else "failed",', '"status": "passed" if score else "failed",',
            "tests/reports/exporters/test_gradescope_results.py"),
        Change(
            "Gradescope shows the points of a quiz while it takes work",
            "grader/reports/exporters/autograder_results.py",
            '"visibility": "after_due_date"', '"visibility": "visible"',
            "tests/reports/exporters/test_gradescope_results.py"),
        Change(
            "Gradescope gets an earlier result after a fault",
            "grader/integrations/release/templates/gradescope/run_autograder.py",
            "RESULTS.unlink(missing_ok=True)", "RESULTS.exists()",
            "tests/integrations/gradescope/test_gradescope.py::"
            "test_a_fault_of_the_grader_leaves_no_result_and_says_why"),
        Change(
            "JUnit XML has characters that no XML may have", "grader/text.py",
            "\\ufffe\\uffff", "",
            "tests/reports/exporters/test_junit.py"),
        Change(
            "code that raised is a failure, not an error, in JUnit XML", "grader/reports/exporters/junit.py",
            'return _with(case, "error" if raised else "failure", lines)', 'return _with(case, "failure", lines)',
            "tests/reports/exporters/test_junit.py::test_code_that_raised_is_an_error_with_its_place"),
        Change(
            "Classroom 50 gets local time for UTC", "grader/reports/exporters/autograder_results.py",
            "return moment.astimezone(datetime.UTC).strftime(", "return moment.strftime(",
            "tests/reports/exporters/test_classroom50_results.py::test_the_date_is_the_commits_in_utc"),
        Change(
            "Classroom 50 collects points over a grade of record", "grader/integrations/learning_platforms.py",
            '{"override": True, ', '{"override": False, ',
            "tests/integrations/classroom50/test_scores.py"),
    ],
    "base modules": [
        Change(
            "the current folder comes first on the path, so a submission's yaml.py runs", "grader/__main__.py",
            "    del sys.path[0]\n", "    pass\n",
            "tests/cli/test_check.py::test_a_folder_without_the_courses_files_is_refused_and_no_file_in_it_is_run"),
        Change(
            "of two equal keys in a file the second counts without a word", "grader/documents.py",
            "            if key in data:\n", "            if key in ():\n",
            "tests/course/test_course.py::test_what_is_wrong_is_reported_with_its_place_and_what_is_expected"),
        Change(
            "a mistake of the user exits like a fault of the grader", "grader/errors.py",
            "    exit_code = BAD_INPUT\n", "    exit_code = INTERNAL\n",
            "tests/submissions/test_graded.py::test_an_empty_or_unclear_class_exits_with_2"),
        Change(
            "a file that is replaced gets the mode of a new one", "grader/files.py",
            "            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))\n", "            pass\n",
            "tests/test_files.py::test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_mode_and_owner"),
        Change(
            "a signal leaves a temporary folder with solutions behind", "grader/files.py",
            "    try:\n        folder.mkdir(mode=0o700)\n", "    folder.mkdir(mode=0o700)\n    try:\n",
            "tests/test_files.py::test_a_temporary_folder_is_removed_at_whatever_instruction_a_signal_arrives"),
        Change(
            "a hook in a student's repository runs", "grader/git.py",
            '    "core.hooksPath": os.devnull,\n', "",
            "tests/test_git.py::test_no_hook_of_the_repository_runs"),
        Change(
            "an old glibc is found only after the download", "grader/machine.py",
            '(library != "glibc" or _numbers(number) < OLDEST_GLIBC)', 'library != "glibc"',
            "tests/test_machine.py::test_a_machine_without_pytorch_is_named"),
        Change(
            "%load_ext grader adds nothing to a notebook", "grader/__init__.py",
            'import_module("grader.cli.magic").load(shell)', 'import_module("grader.cli.magic")',
            "tests/practice/test_checks_in_notebooks.py::test_a_notebook_imports_the_answers_of_another_one"),
    ],
    "the command line": [
        Change(
            "a check passes though an exercise fails", "grader/cli/check_output.py",
            "    return count == len(shown)\n", "    return count <= len(shown)\n",
            "tests/reports/test_reading.py::"
            "test_the_main_issue_explains_most_or_else_costs_most_and_comes_first_everywhere"),
        Change(
            "the main issue of a student is the one that costs least", "grader/cli/instructor/class_table.py",
            "key=lambda issue: -issue[0])", "key=lambda issue: issue[0])",
            "tests/reports/test_reading.py::test_what_costs_points_comes_first"),
        Change(
            "a student is removed without a question", "grader/cli/instructor/class_files.py",
            "if not yes and not can_ask(out):", "if not yes and can_ask(out):",
            "tests/classes/test_forget.py::test_nothing_is_changed_without_a_yes"),
        Change(
            "an audit passes though a right answer gets no tick", "grader/cli/instructor/authoring.py",
            "        raise stop(IMPERFECT, *refused)\n", "        say(*refused)\n",
            "tests/cli/test_authoring.py"),
        Change(
            "feedback that could not be sent is no error", "grader/cli/instructor/exchange.py",
            "        raise stop(IMPERFECT, *found)\n", "        say(*found)\n",
            "tests/integrations/github/test_feedback_github.py::"
            "test_an_error_with_one_student_names_what_to_do_and_does_not_stop_the_others"),
        Change(
            "the name that a submission is to be graded under is ignored", "grader/cli/instructor/grade.py",
            "came = find_submissions(submissions, course.units, student, layout,",
            "came = find_submissions(submissions, course.units, None, layout,",
            "tests/cli/test_instructor.py::test_bad_input_exits_2_with_a_sentence_and_writes_nothing"),
        Change(
            "a command of instructors is not there", "grader/cli/instructor/__init__.py",
            "feedback, originality, forget):", "feedback, originality):",
            "tests/classes/test_forget.py::"
            "test_a_student_is_removed_from_what_the_grader_wrote_and_from_the_tables_and_no_other_one"),
        Change(
            "a command with an error exits with 0", "grader/cli/console.py",
            "raise stop(error.exit_code, str(error)) from None", "raise stop(0, str(error)) from None",
            "tests/cli/test_instructor.py::test_bad_input_exits_2_with_a_sentence_and_writes_nothing"),
        Change(
            "an option is taken for the name of an exercise", "grader/cli/quick.py",
            ' if not name.startswith("-"):', ":",
            "tests/cli/test_quick.py::test_other_command_lines_are_left_to_the_whole_program"),
        Change(
            "a check with a mistake exits like one without", "grader/cli/commands.py",
            "return CommandResult(0 if is_right else IMPERFECT, questions=questions)",
            "return CommandResult(0, questions=questions)",
            "tests/cli/test_check.py::test_an_untouched_folder_is_not_a_failure"),
        Change(
            "a result is written where a student's link leads", "grader/cli/export.py",
            "        refuse_links(path, Path())\n", "        refuse_links(path, path)\n",
            "tests/cli/test_export.py::test_classroom50_writes_nothing_where_a_student_made_a_link"),
        Change(
            "the first version of a cell is checked, not the last", "grader/cli/magic.py",
            "last[tuple(DEFINITION.findall(source)) or source] = number",
            "last.setdefault(tuple(DEFINITION.findall(source)) or source, number)",
            "tests/cli/test_magic.py"),
        Change(
            "a key stops the check that a student waits for", "grader/cli/watch.py",
            "        if self.awaited:\n            self.later = do\n",
            "        if not self.awaited:\n            self.later = do\n",
            "tests/practice/test_watch.py::test_a_save_is_confirmed_at_once_and_no_key_hides_the_verdict"),
        Change(
            "a page of practice items needs a folder that is there", "grader/cli/student_cli.py",
            "        page.parent.mkdir(parents=True, exist_ok=True)\n", "",
            "tests/quizzes/test_practice_page.py::test_the_command_writes_the_page_to_a_file"),
    ],
}

HARMLESS = [
    Change(
        "a local variable has another name", "grader/quizzes/items.py",
        """\
            given = parse_number(raw)
            return _marked_by_slips(item, row, lambda value: abs(given - exact(value)) <= item.tolerance)
""",
        """\
            number = parse_number(raw)
            return _marked_by_slips(item, row, lambda value: abs(number - exact(value)) <= item.tolerance)
""",
        "tests/quizzes/test_marking.py"),
    Change(
        "a comment is reworded", "grader/submissions/tree.py",
        "# Each of these is missing on some platform.", "# Some platforms lack one or more of these.",
        "tests/submissions/test_plain_files.py"),
]
# fmt: on

Verdict = Literal["failed", "passed", "error"]


@dataclass(frozen=True)
class Result:
    """The result of the tests of a change.

    text: the first test that failed, or what is wrong. target: the target of make that runs this test.
    """

    verdict: Verdict
    text: str
    target: str
    seconds: float


def make_copy(folder: Path) -> None:
    """Copy the tracked files and the caches, which are keyed by content, to a new folder."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
            shutil.copymode(ROOT / name, folder / name)
    if (ROOT / ".venv").is_dir():
        (folder / ".venv").symlink_to(ROOT / ".venv")
    compileall.compile_dir(folder / "grader", quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    copy_caches(folder)


def copy_caches(folder: Path) -> None:
    for name in CACHES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
    for path in (ROOT / CHECKS).glob("*.json"):
        shutil.copy(path, folder / CHECKS)


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}


class FirstFailure:
    """A plugin of pytest that runs quick tests before proofs, and writes the first failure to a file.

    The file has the target of make that runs the test, and the test.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: item.get_closest_marker("proof") is not None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.when == "call":
            self._write(report.nodeid, "make prove" if "proof" in report.keywords else "make test")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        # Tests of suites cannot be collected if a suite fails its own solution.
        if report.failed and "SuiteError: " in report.longreprtext:
            self._write(report.nodeid, "make test")

    def _write(self, test: str, target: str) -> None:
        if not self._file.exists():
            self._file.write_text(f"{target}\n{test}", encoding="utf-8")


def run_pytest(tests: str, folder: Path) -> None:
    """Run tests in the copy and exit with pytest's exit code. This process is a fork for these tests alone."""
    os.setsid()
    with Path(f"{folder}.output").open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(folder)
    os.environ.update({**environment(folder), "TMPDIR": str(folder.parent)})
    sys.dont_write_bytecode = True
    sys.path[0] = str(folder)  # instead of the folder of this script
    # The broken code reads what the right code has built: to build it anew takes long, and is not what is tested.
    with contextlib.suppress(Exception):
        from grader.course import model

        built = model.load_course(folder).generated
        built.mark(built.digest_of_sources())
    gc.freeze()  # pytest collects garbage several times
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:anyio", "-p", "no:xdist", f"--basetemp={folder}.tmp"]
    sys.exit(pytest.main([*options, *tests.split()], plugins=[FirstFailure(Path(f"{folder}.failure"))]))


def run_tests(tests: str, folder: Path) -> tuple[int | None, str]:
    """Run tests in a fork. Returns pytest's exit code, or None after a timeout, and the last lines of its output."""
    process = FORKS.Process(target=run_pytest, args=(tests, folder))
    process.start()
    process.join(TIMEOUT)
    code = process.exitcode
    if code is None and process.pid is not None:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    output = Path(f"{folder}.output").read_text(encoding="utf-8", errors="replace")
    return code, " ".join(output.splitlines()[-3:])


def try_change(change: Change, folder: Path) -> Result:
    """Apply a change in the copy, run its tests, and undo it."""
    begun = time.monotonic()

    def result(verdict: Verdict, text: str, target: str = "") -> Result:
        return Result(verdict, text, target, time.monotonic() - begun)

    failure = Path(f"{folder}.failure")
    failure.unlink(missing_ok=True)
    path = folder / change.file
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    if (count := before.count(change.old)) != 1:
        return result("error", f"{change.file} has the old text {count} times: correct the table")
    path.write_text(before.replace(change.old, change.new), encoding="utf-8")
    try:
        code, output = run_tests(change.tests, folder)
        if code is None:
            return result("error", f"the tests take more than {TIMEOUT} s")
        if failure.is_file():
            target, test = failure.read_text(encoding="utf-8").split("\n")
            return result("failed", test, target)
        if code != 0:
            return result("error", f"pytest ended with code {code}: {output}")
        return result("passed", change.tests)
    finally:
        path.write_text(before, encoding="utf-8")
        copy_caches(folder)


def rendered(area: str, change: Change, result: Result) -> str:
    is_harmless = area == "harmless"
    words = {
        "failed": "FAILS" if is_harmless else "caught by",
        "passed": "passes" if is_harmless else "NOT CAUGHT by",
        "error": "ERROR:",
    }
    where = f", {result.target}" if result.target else ""
    return f"{area}: {change.name}: {words[result.verdict]} {result.text} ({result.seconds:.1f} s{where})"


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the code on purpose, and report which tests notice.")
    parser.add_argument("--only", metavar="WORDS", default="", help="only changes whose area or name contains this")
    wanted = parser.parse_args().only.casefold()
    by_area = {**BREAKAGES, "harmless": HARMLESS}
    changes = [
        (area, one) for area, some in by_area.items() for one in some if wanted in f"{area}: {one.name}".casefold()
    ]
    if not changes:
        parser.error(f"no breakage has {wanted!r} in its area or name")
    begun = time.monotonic()
    os.environ.update(environment(ROOT))
    # Nothing of the grader is imported here: the tests run in forks of this process, and import that of their copy.
    subprocess.run([sys.executable, "-c", BUILD_CHECKS], cwd=ROOT, check=True)
    FORKS.set_forkserver_preload(IMPORTED)
    if not wanted:  # otherwise few tests need the caches, and those fill them
        subprocess.run([sys.executable, "-c", FILL_CACHES], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory(prefix="breakages-") as temporary:
        copies: queue.Queue[Path] = queue.Queue()
        for number in range(WORKERS):
            make_copy(Path(temporary, str(number)))
            copies.put(Path(temporary, str(number)))

        def run(change: tuple[str, Change]) -> Result:
            folder = copies.get()
            try:
                return try_change(change[1], folder)
            finally:
                copies.put(folder)

        results: list[tuple[str, Result]] = []
        with ThreadPoolExecutor(WORKERS) as pool:
            for (area, change), result in zip(changes, pool.map(run, changes), strict=True):
                print(rendered(area, change, result), flush=True)
                results.append((area, result))
    broken = [result for area, result in results if area != "harmless"]
    caught = [result for result in broken if result.verdict == "failed"]
    quick = [result for result in caught if result.target == "make test"]
    print(
        f"{len(caught)} of {len(broken)} breakages were caught, {len(quick)} of them by `make test`; "
        f"{time.monotonic() - begun:.0f} s"
    )
    return int(any(result.verdict != ("passed" if area == "harmless" else "failed") for area, result in results))


if __name__ == "__main__":
    sys.exit(main())
