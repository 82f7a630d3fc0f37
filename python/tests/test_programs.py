"""Programs without a run: expectations, differences."""

import pytest
import systole_tpu

TEXT = """HloModule jit_f, is_scheduled=true

ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %b = f32[8]{0} negate(%a)
  ROOT %c = f32[8]{0} all-reduce(%b), replica_groups={{0,1}}
}
"""


class Compiled:
    """What ``jax.jit(f).lower().compile()`` returns, as far as it is used."""

    def __init__(self, text):
        self.text = text

    def as_text(self):
        return self.text


def test_expectations_are_answered():
    program = systole_tpu.program(Compiled(TEXT))
    answers = program.expect(
        {"name": "one sum", "collective": "all-reduce", "exactly": 1},
        {"name": "no gathers", "collective": "all-gather", "max": 0},
    )
    assert answers and answers.verdicts == {"one sum": "met", "no gathers": "met"}
    answers = program.expect({"name": "gathers", "collective": "all-gather"}, {"name": "steps", "compiles_in_steps": False})
    assert not answers and answers.verdicts == {"gathers": "not-met", "steps": "unknown"}
    # Names need not be unique: an expectation that is met hides none that is not.
    answers = program.expect({"name": "same", "collective": "all-gather"}, {"name": "same", "collective": "all-reduce"})
    assert not answers and answers.verdicts == {"same": "not-met"}
    with pytest.raises(systole_tpu.UsageError, match="did you mean"):
        program.expect({"name": "wrong", "collective": "all-gathr"})
    with pytest.raises(systole_tpu.UsageError, match="at least one"):
        program.expect()


def test_programs_are_compared_by_content(tmp_path):
    path = tmp_path / "renamed.txt"
    path.write_text(TEXT.replace("%b", "%other.7").replace("jit_f", "jit_g"))
    program = systole_tpu.program(Compiled(TEXT))
    assert not program.program_diff(systole_tpu.program(path))
    path.write_text(TEXT.replace("negate", "sine"))
    diff = program.program_diff(systole_tpu.program(path))
    assert diff and "sine" in str(diff)
    with pytest.raises(TypeError, match="as_text|compile"):
        systole_tpu.program(3)
