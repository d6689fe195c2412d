#!py
def run():
    return {'from_python': {'module_and_function': 'test.ping', 'assertion': 'assertTrue'}}
