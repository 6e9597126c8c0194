"""How an LLMHost is asked for one token, to see whether it still generates."""

from smarter.core.facts import Facts
from smarter.core.question import FORMS, Question
from smarter.kinds.sam.llm_host.host import host_of
from smarter.models.sam.llm_host import SAMLLMHost

_GENERATIVE = "text-generation"
_SERVICE_PORT = 80


def question(manifest: SAMLLMHost, facts: Facts) -> Question | None:
    """None for models that do not generate, and for formats that nothing is known of."""
    host = host_of(manifest)
    form = FORMS.get(host.api_format)
    if form is None or str(host.spec.model.task) != _GENERATIVE:
        return None
    name = host.served_name
    if host.engine.model_name:
        name = host.engine.model_name(host.weights(facts.environment), name)
    return Question(
        service=host.identity(facts).name,
        port=_SERVICE_PORT,
        path=form.path,
        body=form.body(name),
        expects=form.expects,
        key_secret=host.key_secret,
    )
