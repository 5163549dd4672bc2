"""Courtesy in Chinese, Japanese and Korean, which no blanks divide from a request, and how they ask for a skill."""

import re

_GREETING = re.compile(
    r"\A\s*(?:你好|您好|嗨|请问|请帮我|请帮忙|麻烦[你您]?|帮我|帮忙|能不能|可不可以|劳驾|こんにちは|こんばんは|すみませんが?|안녕하세요"
    r"|(?:我的?|我们)(?:老板|客户|经理|同事|老师)(?:让|要求|要|叫|希望)我们?"
    r"|请?(?:务必)?用[中英日]文(?:回答|回复|作答|输出)|(?:必ず)?日本語で(?:答えて|回答して|返答して)(?:ください|下さい)?"
    r"|한국어로 ?(?:답변|대답)(?:해 ?(?:주세요|줘))?)"
    r"[，,。.!！、？?\s]*"
)
_THANKS = re.compile(
    r"(?:谢谢[你您了]?|多谢|感谢|拜托了?|(?:よろしく)?お願い(?:します|いたします|致します)|ありがとうございます"
    r"|감사합니다|고맙습니다|부탁드립니다|부탁해요?|请?(?:务必)?用[中英日]文(?:回答|回复|作答|输出)"
    r"|(?:必ず)?日本語で(?:答えて|回答して|返答して)(?:ください|下さい)?|(?:方法|やり方)を(?:教えて|知りたい)(?:ください|です)?"
    r"|[（(]急(?:ぎ|需)?[）)])[。.!！\s]*\Z"
)
_SOUGHT = re.compile(
    r"(?:的?(?:技能|[Ss]kills?)[吗么]?|(?:するため|ため)?の?(?:スキル|[Ss]kill)[はをが]?(?:あります|ありません|ある|探して|教えて)?"
    r"(?:か|ください|います)?|\s?(?:하는\s)?스킬[을이]?\s?(?:있어|있나요|있습니까|찾아\s?줘|추천해\s?줘)?)[？?。\s]*\Z"
)
_SEEKER = re.compile(r"\A(?:有没有|是否有|有|我想|我要|我|需要|找|推荐|一个|个|可以|能够?|用来|用于)+")
"""What asks for a skill in Chinese, around what it is for."""


def without_courtesy(text: str) -> str:
    """Return a request in Chinese, Japanese or Korean without courtesy around it, and without asking for a skill."""
    while (rest := _GREETING.sub("", text, count=1)) != text:
        text = rest
    text = _THANKS.sub("", text).rstrip("，,、 ")
    if sought := _SOUGHT.search(text):
        text = _SEEKER.sub("", text[: sought.start()])
    return text
